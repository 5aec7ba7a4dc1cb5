export { map_at_r_demo as default } from "../dmlviz.workbench/page-916e159156074adb.js";
