export { map_at_r_demo as default } from "../dmlviz.map/page-888c0a61f9fc5fbf.js";
