export { draw_points as default } from "../dmlviz.workbench/page-dd44f037a4707fc6.js";
