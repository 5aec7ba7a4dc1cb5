export { import_preview as default } from "../dmlviz.workbench/page-bedaebc59ea5c80c.js";
