export { sketch_search as default } from "../dmlviz.workbench/page-efa874d7497a5441.js";
