export { query_pad as default } from "../dmlviz.workbench/page-941fac9da780ca46.js";
