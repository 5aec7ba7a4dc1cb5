export { lab_planes as default } from "../dmlviz.workbench/page-4e2019a0e3ca8ef7.js";
