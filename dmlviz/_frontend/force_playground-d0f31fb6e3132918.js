export { force_playground as default } from "../dmlviz.workbench/page-ad2501f6ad92bb83.js";
