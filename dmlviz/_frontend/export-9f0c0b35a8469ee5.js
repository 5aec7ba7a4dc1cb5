export { export as default } from "../dmlviz.workbench/page-b4a05ec0b335f96d.js";
