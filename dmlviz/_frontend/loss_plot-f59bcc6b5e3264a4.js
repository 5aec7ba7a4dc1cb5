export { loss_plot as default } from "../dmlviz.workbench/page-a141da976c35556c.js";
