export { review_sheet as default } from "../dmlviz.workbench/page-136721580c487fa8.js";
