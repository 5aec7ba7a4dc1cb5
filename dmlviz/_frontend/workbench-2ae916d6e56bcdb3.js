export { workbench as default } from "../dmlviz.workbench/page-8c97230e34a8280a.js";
