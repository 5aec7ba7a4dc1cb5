export { loss_curve as default } from "../dmlviz.map/page-66326b5c74ff3fbc.js";
