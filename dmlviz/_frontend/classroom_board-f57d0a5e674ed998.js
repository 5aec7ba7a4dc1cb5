export { classroom_board as default } from "../dmlviz.map/page-723151476d3f7970.js";
