export { import_preview as default } from "../dmlviz.workbench/page-711134761b257afb.js";
