export { run_list as default } from "../dmlviz.map/page-ecdfd1c2f87e287d.js";
