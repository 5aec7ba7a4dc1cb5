export { sketch_search as default } from "../dmlviz.map/page-27b9c1eace6f5042.js";
