export { run_list as default } from "../dmlviz.workbench/page-466fa16dbec0f294.js";
