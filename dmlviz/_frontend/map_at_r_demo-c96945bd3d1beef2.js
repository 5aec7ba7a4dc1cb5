export { map_at_r_demo as default } from "../dmlviz.workbench/page-efa874d7497a5441.js";
