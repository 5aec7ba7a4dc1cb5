export { map_at_r_demo as default } from "../dmlviz.map/page-8fced1b2188474fd.js";
