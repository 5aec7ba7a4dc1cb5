export { map_at_r_demo as default } from "../dmlviz.map/page-7be70227288e4e40.js";
