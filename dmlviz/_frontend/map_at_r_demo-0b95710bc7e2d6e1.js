export { map_at_r_demo as default } from "../dmlviz.workbench/page-711134761b257afb.js";
