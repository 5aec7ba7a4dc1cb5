export { batch_explorer as default } from "../dmlviz.map/page-715187643135cb53.js";
