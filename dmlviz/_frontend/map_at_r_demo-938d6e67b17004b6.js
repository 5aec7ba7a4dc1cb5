export { map_at_r_demo as default } from "../dmlviz.workbench/page-b4a05ec0b335f96d.js";
