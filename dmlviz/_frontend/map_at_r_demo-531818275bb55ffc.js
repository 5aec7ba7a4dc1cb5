export { map_at_r_demo as default } from "../dmlviz.map/page-56bfb3966304b2d2.js";
