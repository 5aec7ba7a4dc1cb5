export { help as default } from "../dmlviz.workbench/page-10a26ec36a568ccb.js";
