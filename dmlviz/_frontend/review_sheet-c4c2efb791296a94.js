export { review_sheet as default } from "../dmlviz.workbench/page-13041e5fbc65b33a.js";
