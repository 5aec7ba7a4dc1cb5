export { layout_playground as default } from "../dmlviz.workbench/page-042cfbd126efd12d.js";
