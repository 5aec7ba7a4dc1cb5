export { map_at_r_demo as default } from "../dmlviz.workbench/page-8c97230e34a8280a.js";
