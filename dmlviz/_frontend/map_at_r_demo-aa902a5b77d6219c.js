export { map_at_r_demo as default } from "../dmlviz.workbench/page-819fc27fe12e62ae.js";
