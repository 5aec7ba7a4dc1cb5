export { map_at_r_demo as default } from "../dmlviz.map/page-e56a5927ec858cee.js";
