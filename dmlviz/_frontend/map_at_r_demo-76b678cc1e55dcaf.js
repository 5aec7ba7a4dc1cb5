export { map_at_r_demo as default } from "../dmlviz.map/page-49e26dab2579ecb8.js";
