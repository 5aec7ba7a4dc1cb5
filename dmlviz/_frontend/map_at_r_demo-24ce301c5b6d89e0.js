export { map_at_r_demo as default } from "../dmlviz.map/page-9a5c921d21032fe0.js";
