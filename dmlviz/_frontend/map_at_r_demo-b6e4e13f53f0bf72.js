export { map_at_r_demo as default } from "../dmlviz.workbench/page-e293e4b80e676ca6.js";
