export { workbench as default } from "../dmlviz.workbench/page-2a7f25e49e7e508f.js";
