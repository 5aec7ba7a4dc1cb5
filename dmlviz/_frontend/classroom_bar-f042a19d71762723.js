export { classroom_bar as default } from "../dmlviz.workbench/page-1230df9b2b338dc8.js";
