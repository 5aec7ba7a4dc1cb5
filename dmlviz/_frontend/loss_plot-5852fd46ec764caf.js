export { loss_plot as default } from "../dmlviz.map/page-abf33d08e48fdd33.js";
