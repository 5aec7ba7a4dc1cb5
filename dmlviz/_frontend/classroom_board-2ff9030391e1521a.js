export { classroom_board as default } from "../dmlviz.workbench/page-43527b77a4eb2914.js";
