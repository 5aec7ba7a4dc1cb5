export { map_at_r_demo as default } from "../dmlviz.workbench/page-c411f0a729a1d6dc.js";
