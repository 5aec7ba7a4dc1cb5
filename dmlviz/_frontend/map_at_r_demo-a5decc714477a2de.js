export { map_at_r_demo as default } from "../dmlviz.workbench/page-197bd50d2482fe82.js";
