export { map_at_r_demo as default } from "../dmlviz.workbench/page-40958c7aa4171505.js";
