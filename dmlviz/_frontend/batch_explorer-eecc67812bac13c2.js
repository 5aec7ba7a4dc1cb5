export { batch_explorer as default } from "../dmlviz.map/page-2162b45cdc67aba5.js";
