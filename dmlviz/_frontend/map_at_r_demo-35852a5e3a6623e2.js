export { map_at_r_demo as default } from "../dmlviz.workbench/page-e28ad1d9db210308.js";
