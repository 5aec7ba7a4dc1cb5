export { workbench as default } from "../dmlviz.workbench/page-e716eb7a32aa3515.js";
