export { map_at_r_demo as default } from "../dmlviz.workbench/page-2271f8bb3f38926b.js";
