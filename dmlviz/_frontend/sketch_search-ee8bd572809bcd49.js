export { sketch_search as default } from "../dmlviz.workbench/page-0a98a8fd8d399601.js";
