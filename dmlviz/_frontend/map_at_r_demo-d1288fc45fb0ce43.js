export { map_at_r_demo as default } from "../dmlviz.map/page-d3ae70353a45580d.js";
