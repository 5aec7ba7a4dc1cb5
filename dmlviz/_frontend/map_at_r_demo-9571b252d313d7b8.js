export { map_at_r_demo as default } from "../dmlviz.map/page-0208b99063ea1d83.js";
