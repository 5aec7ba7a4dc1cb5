export { detail as default } from "../dmlviz.map/page-77a32a83e1bc8405.js";
