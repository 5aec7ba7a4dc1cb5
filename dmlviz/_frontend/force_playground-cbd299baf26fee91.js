export { force_playground as default } from "../dmlviz.workbench/page-1f113667c8215bd2.js";
