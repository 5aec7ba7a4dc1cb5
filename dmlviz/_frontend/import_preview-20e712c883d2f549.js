export { import_preview as default } from "../dmlviz.workbench/page-ba80edcd2efa011d.js";
