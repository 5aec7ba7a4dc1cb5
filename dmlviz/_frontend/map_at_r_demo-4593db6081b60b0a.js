export { map_at_r_demo as default } from "../dmlviz.map/page-ca4ae23484e440df.js";
