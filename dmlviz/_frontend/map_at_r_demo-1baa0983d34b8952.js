export { map_at_r_demo as default } from "../dmlviz.workbench/page-df5ccca0aa11d827.js";
