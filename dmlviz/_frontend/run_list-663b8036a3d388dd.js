export { run_list as default } from "../dmlviz.workbench/page-ba80edcd2efa011d.js";
