export { import_preview as default } from "../dmlviz.workbench/page-f8828226c481564c.js";
