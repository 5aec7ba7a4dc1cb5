export { query_pad as default } from "../dmlviz.workbench/page-e28ad1d9db210308.js";
