export { classroom_board as default } from "../dmlviz.workbench/page-38794611506d4ca0.js";
