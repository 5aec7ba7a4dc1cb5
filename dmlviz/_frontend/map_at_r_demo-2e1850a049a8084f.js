export { map_at_r_demo as default } from "../dmlviz.workbench/page-0fca382c8cf9fcb2.js";
