export { run_list as default } from "../dmlviz.workbench/page-43527b77a4eb2914.js";
