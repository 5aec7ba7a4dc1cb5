export { map_at_r_demo as default } from "../dmlviz.workbench/page-bedaebc59ea5c80c.js";
