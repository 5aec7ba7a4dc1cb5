export { loss_plot as default } from "../dmlviz.map/page-ecdfd1c2f87e287d.js";
