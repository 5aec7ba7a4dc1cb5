export { force_playground as default } from "../dmlviz.workbench/page-e293e4b80e676ca6.js";
