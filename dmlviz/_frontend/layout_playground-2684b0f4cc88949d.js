export { layout_playground as default } from "../dmlviz.workbench/page-d1c089bf790993f7.js";
