export { card_index as default } from "../dmlviz.workbench/page-ba80edcd2efa011d.js";
