export { map_at_r_demo as default } from "../dmlviz.map/page-5c8cd3674b45802c.js";
