export { baseline_wait as default } from "../dmlviz.workbench/page-8a1e5018d1f3bd82.js";
