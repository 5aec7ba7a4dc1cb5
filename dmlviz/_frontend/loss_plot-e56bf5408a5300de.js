export { loss_plot as default } from "../dmlviz.workbench/page-2271f8bb3f38926b.js";
