export { upload as default } from "../dmlviz.workbench/page-35297a5beb89ef5a.js";
