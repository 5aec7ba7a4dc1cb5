export { sketch_search as default } from "../dmlviz.workbench/page-1230df9b2b338dc8.js";
