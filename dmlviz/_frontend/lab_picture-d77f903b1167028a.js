export { lab_picture as default } from "../dmlviz.workbench/page-ba80edcd2efa011d.js";
