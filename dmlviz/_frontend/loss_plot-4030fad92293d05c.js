export { loss_plot as default } from "../dmlviz.map/page-c0a7972d40f83be0.js";
