export { map_at_r_demo as default } from "../dmlviz.map/page-3383707aff757cef.js";
