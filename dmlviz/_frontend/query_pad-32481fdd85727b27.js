export { query_pad as default } from "../dmlviz.map/page-e2713e538a955cea.js";
