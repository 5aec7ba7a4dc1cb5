export { map_at_r_demo as default } from "../dmlviz.workbench/page-f8828226c481564c.js";
