export { classroom_bar as default } from "../dmlviz.map/page-7be70227288e4e40.js";
