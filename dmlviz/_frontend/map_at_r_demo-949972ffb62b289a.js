export { map_at_r_demo as default } from "../dmlviz.workbench/page-eb19ffafd37e43aa.js";
