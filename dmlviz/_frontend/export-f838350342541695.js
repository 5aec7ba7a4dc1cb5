export { export as default } from "../dmlviz.workbench/page-574f7e71d5fd8279.js";
