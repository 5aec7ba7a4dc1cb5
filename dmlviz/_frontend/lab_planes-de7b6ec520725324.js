export { lab_planes as default } from "../dmlviz.workbench/page-df5ccca0aa11d827.js";
