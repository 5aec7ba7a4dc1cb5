export { map_at_r_demo as default } from "../dmlviz.map/page-6da5e7a4ec60971b.js";
