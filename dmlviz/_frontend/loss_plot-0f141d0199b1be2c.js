export { loss_plot as default } from "../dmlviz.map/page-3383707aff757cef.js";
