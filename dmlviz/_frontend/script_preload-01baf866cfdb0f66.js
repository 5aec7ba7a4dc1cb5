export { script_preload as default } from "../dmlviz.workbench/page-eb19ffafd37e43aa.js";
