export { study as default } from "../dmlviz.map/page-f91a2e7a4310c952.js";
