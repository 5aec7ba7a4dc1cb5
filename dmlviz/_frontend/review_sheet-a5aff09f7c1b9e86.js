export { review_sheet as default } from "../dmlviz.workbench/page-5f4cfa7c409118eb.js";
