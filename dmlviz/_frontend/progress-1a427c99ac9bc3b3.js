export { progress as default } from "../dmlviz.workbench/page-042cfbd126efd12d.js";
