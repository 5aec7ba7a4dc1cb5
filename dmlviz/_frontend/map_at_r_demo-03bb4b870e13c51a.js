export { map_at_r_demo as default } from "../dmlviz.map/page-ecdfd1c2f87e287d.js";
