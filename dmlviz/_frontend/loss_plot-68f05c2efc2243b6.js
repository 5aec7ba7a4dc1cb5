export { loss_plot as default } from "../dmlviz.workbench/page-ba80edcd2efa011d.js";
