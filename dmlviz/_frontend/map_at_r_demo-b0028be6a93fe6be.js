export { map_at_r_demo as default } from "../dmlviz.workbench/page-a141da976c35556c.js";
