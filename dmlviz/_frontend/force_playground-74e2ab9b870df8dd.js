export { force_playground as default } from "../dmlviz.workbench/page-197bd50d2482fe82.js";
