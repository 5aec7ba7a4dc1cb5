export { loss_plot as default } from "../dmlviz.workbench/page-eb19ffafd37e43aa.js";
