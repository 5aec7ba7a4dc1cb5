export { help as default } from "../dmlviz.workbench/page-c411f0a729a1d6dc.js";
