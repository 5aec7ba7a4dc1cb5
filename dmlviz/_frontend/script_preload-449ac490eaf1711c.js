export { script_preload as default } from "../dmlviz.workbench/page-0fca382c8cf9fcb2.js";
