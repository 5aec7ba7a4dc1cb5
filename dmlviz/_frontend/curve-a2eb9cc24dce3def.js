export { curve as default } from "../dmlviz.map/page-f32b58053370adbb.js";
