export { run_list as default } from "../dmlviz.map/page-3383707aff757cef.js";
