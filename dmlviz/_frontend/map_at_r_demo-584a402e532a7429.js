export { map_at_r_demo as default } from "../dmlviz.map/page-e2713e538a955cea.js";
