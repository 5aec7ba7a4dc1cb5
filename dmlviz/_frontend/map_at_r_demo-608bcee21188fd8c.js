export { map_at_r_demo as default } from "../dmlviz.map/page-715187643135cb53.js";
