export { batch_explorer as default } from "../dmlviz.map/page-23239f7aa573cbc3.js";
