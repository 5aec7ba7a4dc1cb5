export { batch_explorer as default } from "../dmlviz.map/page-8e6fdc1b9fe05891.js";
