export { loss_plot as default } from "../dmlviz.map/page-be57ca1d27acedf9.js";
