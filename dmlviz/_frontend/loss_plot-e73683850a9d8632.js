export { loss_plot as default } from "../dmlviz.map/page-da7375f722df21e7.js";
