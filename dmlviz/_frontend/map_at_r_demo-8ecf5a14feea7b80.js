export { map_at_r_demo as default } from "../dmlviz.map/page-88cf2a2ec0f2dd76.js";
