export { run_list as default } from "../dmlviz.map/page-6da5e7a4ec60971b.js";
