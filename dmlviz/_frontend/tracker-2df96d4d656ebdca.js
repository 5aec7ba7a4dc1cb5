export { tracker as default } from "../dmlviz.workbench/page-3eeb247f99f77451.js";
