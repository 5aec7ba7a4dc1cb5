export { import_preview as default } from "../dmlviz.workbench/page-7fc0523bee5c2d62.js";
