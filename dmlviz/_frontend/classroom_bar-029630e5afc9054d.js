export { classroom_bar as default } from "../dmlviz.workbench/page-dd44f037a4707fc6.js";
