export { map as default } from "../dmlviz.map/page-abf33d08e48fdd33.js";
