export { script_preload as default } from "../dmlviz.workbench/page-17cd9a2f43a4a5b7.js";
