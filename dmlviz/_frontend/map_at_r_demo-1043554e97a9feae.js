export { map_at_r_demo as default } from "../dmlviz.workbench/page-7fc0523bee5c2d62.js";
