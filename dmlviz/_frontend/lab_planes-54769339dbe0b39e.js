export { lab_planes as default } from "../dmlviz.workbench/page-2dda7220cd76b5f6.js";
