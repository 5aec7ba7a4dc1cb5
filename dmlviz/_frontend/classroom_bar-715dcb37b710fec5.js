export { classroom_bar as default } from "../dmlviz.map/page-23239f7aa573cbc3.js";
