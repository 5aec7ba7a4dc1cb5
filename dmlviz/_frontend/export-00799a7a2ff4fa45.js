export { export as default } from "../dmlviz.workbench/page-466fa16dbec0f294.js";
