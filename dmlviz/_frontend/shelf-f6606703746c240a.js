export { shelf as default } from "../dmlviz.map/page-4a2335332969ec25.js";
