export { script_preload as default } from "../dmlviz.workbench/page-819fc27fe12e62ae.js";
