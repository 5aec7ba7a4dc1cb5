export { tracker as default } from "../dmlviz.workbench/page-c3f00f6a97f36146.js";
