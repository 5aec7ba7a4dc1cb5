export { review_sheet as default } from "../dmlviz.workbench/page-916e159156074adb.js";
