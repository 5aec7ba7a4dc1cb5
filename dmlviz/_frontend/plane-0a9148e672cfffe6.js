export { plane as default } from "../dmlviz.map/page-044755027f032983.js";
