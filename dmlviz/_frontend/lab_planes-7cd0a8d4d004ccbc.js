export { lab_planes as default } from "../dmlviz.workbench/page-e201165bdf93cdb3.js";
