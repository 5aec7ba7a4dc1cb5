export { metric_playground as default } from "../dmlviz.workbench/page-604e681c17ca4f5a.js";
