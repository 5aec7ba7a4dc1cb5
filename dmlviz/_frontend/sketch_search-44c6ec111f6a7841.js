export { sketch_search as default } from "../dmlviz.workbench/page-dd44f037a4707fc6.js";
