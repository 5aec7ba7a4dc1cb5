export { map_at_r_demo as default } from "../dmlviz.workbench/page-9076fdc985d12e47.js";
