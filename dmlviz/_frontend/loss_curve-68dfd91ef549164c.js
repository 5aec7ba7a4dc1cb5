export { loss_curve as default } from "../dmlviz.map/page-e7313885ee0d78cd.js";
