export { glossary as default } from "../dmlviz.workbench/page-582b2a660e905d28.js";
