export { map_at_r_demo as default } from "../dmlviz.workbench/page-2cc05082cb181cad.js";
