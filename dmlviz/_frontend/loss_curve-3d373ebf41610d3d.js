export { loss_curve as default } from "../dmlviz.map/page-b4a5755cd6dde7c7.js";
