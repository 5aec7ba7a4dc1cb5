export { query_pad as default } from "../dmlviz.workbench/page-916e159156074adb.js";
