export { tracker as default } from "../dmlviz.workbench/page-e201165bdf93cdb3.js";
