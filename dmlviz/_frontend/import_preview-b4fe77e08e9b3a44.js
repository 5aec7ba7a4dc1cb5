export { import_preview as default } from "../dmlviz.workbench/page-82a9a12a1a7fb3b8.js";
