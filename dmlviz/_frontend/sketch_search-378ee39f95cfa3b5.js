export { sketch_search as default } from "../dmlviz.workbench/page-de96e8ab1eb3372a.js";
