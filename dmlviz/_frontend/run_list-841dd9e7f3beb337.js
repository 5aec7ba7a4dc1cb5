export { run_list as default } from "../dmlviz.workbench/page-e201165bdf93cdb3.js";
