export { map_at_r_demo as default } from "../dmlviz.workbench/page-3eeb247f99f77451.js";
