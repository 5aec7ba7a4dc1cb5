export { map_at_r_demo as default } from "../dmlviz.workbench/page-042cfbd126efd12d.js";
