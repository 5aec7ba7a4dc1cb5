export { glossary as default } from "../dmlviz.workbench/page-ab8aa3062f98f12b.js";
