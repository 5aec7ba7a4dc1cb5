export { loss_curve as default } from "../dmlviz.map/page-8fced1b2188474fd.js";
