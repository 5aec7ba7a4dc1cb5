export { run_list as default } from "../dmlviz.workbench/page-0a98a8fd8d399601.js";
