export { map_at_r_demo as default } from "../dmlviz.map/page-dba54c24fbdbd198.js";
