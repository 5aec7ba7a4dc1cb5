export { run_list as default } from "../dmlviz.workbench/page-5f4cfa7c409118eb.js";
