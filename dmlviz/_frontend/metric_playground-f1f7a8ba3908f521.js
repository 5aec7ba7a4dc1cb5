export { metric_playground as default } from "../dmlviz.workbench/page-c3f840fc0dc9469c.js";
