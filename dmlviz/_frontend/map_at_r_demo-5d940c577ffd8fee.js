export { map_at_r_demo as default } from "../dmlviz.map/page-9d5891297144db3c.js";
