export { threshold as default } from "../dmlviz.workbench/page-3f8eaffc13a4a411.js";
