export { loss_plot as default } from "../dmlviz.map/page-68533326573a911f.js";
