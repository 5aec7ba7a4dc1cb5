export { tracker as default } from "../dmlviz.workbench/page-40958c7aa4171505.js";
