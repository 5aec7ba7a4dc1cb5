export { loss_plot as default } from "../dmlviz.map/page-1fecd141e94ad1c5.js";
