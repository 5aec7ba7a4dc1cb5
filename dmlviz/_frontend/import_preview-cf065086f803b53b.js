export { import_preview as default } from "../dmlviz.workbench/page-941fac9da780ca46.js";
