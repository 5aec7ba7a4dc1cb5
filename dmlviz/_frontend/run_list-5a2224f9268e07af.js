export { run_list as default } from "../dmlviz.map/page-a2fe851bd26a5770.js";
