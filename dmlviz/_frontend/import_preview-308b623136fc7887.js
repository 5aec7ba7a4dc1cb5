export { import_preview as default } from "../dmlviz.workbench/page-2631059aeb8b5540.js";
