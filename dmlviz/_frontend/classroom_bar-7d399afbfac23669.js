export { classroom_bar as default } from "../dmlviz.map/page-715187643135cb53.js";
