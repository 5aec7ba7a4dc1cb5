export { map_at_r_demo as default } from "../dmlviz.map/page-66326b5c74ff3fbc.js";
