export { lab_picture as default } from "../dmlviz.workbench/page-009e2bc4cba6fb4c.js";
