export { ranking_toy as default } from "../dmlviz.workbench/page-1230df9b2b338dc8.js";
