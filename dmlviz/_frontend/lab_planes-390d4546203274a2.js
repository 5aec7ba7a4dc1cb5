export { lab_planes as default } from "../dmlviz.workbench/page-820065b781a9f186.js";
