export { loss_plot as default } from "../dmlviz.workbench/page-eef8812135fa56d8.js";
