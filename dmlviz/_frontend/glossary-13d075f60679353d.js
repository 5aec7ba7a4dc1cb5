export { glossary as default } from "../dmlviz.workbench/page-bedaebc59ea5c80c.js";
