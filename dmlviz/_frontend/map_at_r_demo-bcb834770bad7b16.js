export { map_at_r_demo as default } from "../dmlviz.map/page-f9010162d4ea4ee0.js";
