export { run_list as default } from "../dmlviz.workbench/page-582b2a660e905d28.js";
