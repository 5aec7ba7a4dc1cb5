export { map as default } from "../dmlviz.map/page-36725a6ee26453e3.js";
