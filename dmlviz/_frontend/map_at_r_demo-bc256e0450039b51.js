export { map_at_r_demo as default } from "../dmlviz.map/page-ecb88615e106c05e.js";
