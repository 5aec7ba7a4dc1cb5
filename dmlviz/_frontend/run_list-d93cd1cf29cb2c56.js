export { run_list as default } from "../dmlviz.workbench/page-916e159156074adb.js";
