export { force_playground as default } from "../dmlviz.map/page-e2713e538a955cea.js";
