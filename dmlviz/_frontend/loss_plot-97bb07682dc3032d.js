export { loss_plot as default } from "../dmlviz.map/page-535bcc7dbd84befa.js";
