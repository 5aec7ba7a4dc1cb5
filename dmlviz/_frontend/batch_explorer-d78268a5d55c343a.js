export { batch_explorer as default } from "../dmlviz.workbench/page-c3f840fc0dc9469c.js";
