export { loss_curve as default } from "../dmlviz.map/page-e56a5927ec858cee.js";
