export { map_at_r_demo as default } from "../dmlviz.workbench/page-c3f840fc0dc9469c.js";
