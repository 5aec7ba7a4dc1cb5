export { loss_plot as default } from "../dmlviz.map/page-2162b45cdc67aba5.js";
