export { run_list as default } from "../dmlviz.workbench/page-70c9a89f0498e9f1.js";
