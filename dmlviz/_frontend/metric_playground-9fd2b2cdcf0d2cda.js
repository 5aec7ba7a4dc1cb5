export { metric_playground as default } from "../dmlviz.workbench/page-2271f8bb3f38926b.js";
