export { run_list as default } from "../dmlviz.workbench/page-941fac9da780ca46.js";
