export { progress as default } from "../dmlviz.workbench/page-2cc05082cb181cad.js";
