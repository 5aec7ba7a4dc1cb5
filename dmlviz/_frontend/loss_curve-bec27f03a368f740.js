export { loss_curve as default } from "../dmlviz.map/page-cc97df5f4111784a.js";
