export { loss_plot as default } from "../dmlviz.workbench/page-042cfbd126efd12d.js";
