export { map_at_r_demo as default } from "../dmlviz.map/page-286d924112bf2ac3.js";
