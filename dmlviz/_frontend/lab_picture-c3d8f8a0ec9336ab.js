export { lab_picture as default } from "../dmlviz.workbench/page-f0bf218c4ac1bb07.js";
