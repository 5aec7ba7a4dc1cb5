export { map_at_r_demo as default } from "../dmlviz.workbench/page-d0af675bffca286b.js";
