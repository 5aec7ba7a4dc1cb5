export { review_sheet as default } from "../dmlviz.workbench/page-bedaebc59ea5c80c.js";
