export { batch_explorer as default } from "../dmlviz.map/page-8a08e80a8f7878f6.js";
