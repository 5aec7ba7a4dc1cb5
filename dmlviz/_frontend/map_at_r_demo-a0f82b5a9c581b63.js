export { map_at_r_demo as default } from "../dmlviz.map/page-5b3ee675c2db516a.js";
