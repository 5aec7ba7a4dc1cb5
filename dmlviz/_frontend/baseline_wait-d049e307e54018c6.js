export { baseline_wait as default } from "../dmlviz.workbench/page-f8828226c481564c.js";
