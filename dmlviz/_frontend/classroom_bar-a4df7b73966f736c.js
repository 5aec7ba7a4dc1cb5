export { classroom_bar as default } from "../dmlviz.workbench/page-711134761b257afb.js";
