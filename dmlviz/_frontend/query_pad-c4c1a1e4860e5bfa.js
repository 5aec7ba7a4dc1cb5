export { query_pad as default } from "../dmlviz.workbench/page-ba80edcd2efa011d.js";
