export { query_pad as default } from "../dmlviz.workbench/page-042cfbd126efd12d.js";
