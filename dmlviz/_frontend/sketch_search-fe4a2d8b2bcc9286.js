export { sketch_search as default } from "../dmlviz.workbench/page-eb19ffafd37e43aa.js";
