export { review_sheet as default } from "../dmlviz.workbench/page-009e2bc4cba6fb4c.js";
