export { map_at_r_demo as default } from "../dmlviz.map/page-23239f7aa573cbc3.js";
