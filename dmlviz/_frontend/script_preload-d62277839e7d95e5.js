export { script_preload as default } from "../dmlviz.workbench/page-916e159156074adb.js";
