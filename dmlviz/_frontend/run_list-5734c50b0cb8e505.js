export { run_list as default } from "../dmlviz.workbench/page-136721580c487fa8.js";
