export { lab_picture as default } from "../dmlviz.map/page-7111a85d3e86a6c2.js";
