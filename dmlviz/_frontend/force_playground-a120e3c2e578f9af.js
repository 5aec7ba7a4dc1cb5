export { force_playground as default } from "../dmlviz.workbench/page-dad52cde0c60c2ae.js";
