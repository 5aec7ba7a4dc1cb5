export { map_at_r_demo as default } from "../dmlviz.map/page-8e6fdc1b9fe05891.js";
