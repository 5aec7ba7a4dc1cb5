export { map_at_r_demo as default } from "../dmlviz.workbench/page-eef8812135fa56d8.js";
