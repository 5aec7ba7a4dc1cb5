export { map_at_r_demo as default } from "../dmlviz.workbench/page-466fa16dbec0f294.js";
