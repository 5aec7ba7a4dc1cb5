export { run_list as default } from "../dmlviz.workbench/page-1812d6ecb913274b.js";
