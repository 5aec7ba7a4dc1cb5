export { run_list as default } from "../dmlviz.workbench/page-9b66ccded28de95a.js";
