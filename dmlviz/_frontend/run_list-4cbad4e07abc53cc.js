export { run_list as default } from "../dmlviz.workbench/page-711134761b257afb.js";
