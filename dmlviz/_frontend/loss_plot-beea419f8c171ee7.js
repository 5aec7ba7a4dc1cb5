export { loss_plot as default } from "../dmlviz.workbench/page-3ba77f22ac59b453.js";
