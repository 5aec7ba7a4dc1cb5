export { import_preview as default } from "../dmlviz.workbench/page-7a4aa5d868f5f749.js";
