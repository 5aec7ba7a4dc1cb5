export { run_list as default } from "../dmlviz.workbench/page-9076fdc985d12e47.js";
