export { map_at_r_demo as default } from "../dmlviz.workbench/page-dad52cde0c60c2ae.js";
