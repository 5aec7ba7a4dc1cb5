export { review_sheet as default } from "../dmlviz.workbench/page-4a1ce9ebeb53f1b4.js";
