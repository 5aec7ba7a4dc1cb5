export { batch_explorer as default } from "../dmlviz.map/page-ca4ae23484e440df.js";
