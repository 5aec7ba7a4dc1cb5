export { force_playground as default } from "../dmlviz.workbench/page-9b66ccded28de95a.js";
