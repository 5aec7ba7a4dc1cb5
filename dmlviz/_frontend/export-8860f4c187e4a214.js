export { export as default } from "../dmlviz.map/page-8e6fdc1b9fe05891.js";
