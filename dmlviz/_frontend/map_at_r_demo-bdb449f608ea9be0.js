export { map_at_r_demo as default } from "../dmlviz.map/page-abf33d08e48fdd33.js";
