export { run_list as default } from "../dmlviz.workbench/page-26c53ff5725f55d2.js";
