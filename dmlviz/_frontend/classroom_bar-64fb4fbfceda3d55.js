export { classroom_bar as default } from "../dmlviz.workbench/page-e4d7b0f7271a6fc2.js";
