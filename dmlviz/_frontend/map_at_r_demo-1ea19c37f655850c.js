export { map_at_r_demo as default } from "../dmlviz.map/page-20900611dab9d964.js";
