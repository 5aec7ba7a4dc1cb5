export { metric_playground as default } from "../dmlviz.map/page-88cf2a2ec0f2dd76.js";
