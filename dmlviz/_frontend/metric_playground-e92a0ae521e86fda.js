export { metric_playground as default } from "../dmlviz.map/page-2162b45cdc67aba5.js";
