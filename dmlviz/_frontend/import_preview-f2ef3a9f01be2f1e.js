export { import_preview as default } from "../dmlviz.workbench/page-84056f2385e55c86.js";
