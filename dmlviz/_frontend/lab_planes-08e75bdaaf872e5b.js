export { lab_planes as default } from "../dmlviz.map/page-6abc13aef21c8391.js";
