export { draw_points as default } from "../dmlviz.workbench/page-916e159156074adb.js";
