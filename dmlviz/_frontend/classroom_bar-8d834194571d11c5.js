export { classroom_bar as default } from "../dmlviz.workbench/page-bedaebc59ea5c80c.js";
