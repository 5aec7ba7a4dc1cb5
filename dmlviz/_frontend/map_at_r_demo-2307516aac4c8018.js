export { map_at_r_demo as default } from "../dmlviz.workbench/page-1812d6ecb913274b.js";
