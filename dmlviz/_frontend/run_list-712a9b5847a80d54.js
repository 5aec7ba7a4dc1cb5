export { run_list as default } from "../dmlviz.workbench/page-df5ccca0aa11d827.js";
