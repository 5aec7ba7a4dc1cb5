export { map_at_r_demo as default } from "../dmlviz.workbench/page-dd44f037a4707fc6.js";
