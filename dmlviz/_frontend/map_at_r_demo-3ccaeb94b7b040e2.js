export { map_at_r_demo as default } from "../dmlviz.workbench/page-ba80edcd2efa011d.js";
