export { glossary as default } from "../dmlviz.workbench/page-d0af675bffca286b.js";
