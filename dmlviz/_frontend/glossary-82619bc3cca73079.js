export { glossary as default } from "../dmlviz.workbench/page-ba80edcd2efa011d.js";
