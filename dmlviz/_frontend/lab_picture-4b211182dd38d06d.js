export { lab_picture as default } from "../dmlviz.map/page-b5b84d6a6413a09e.js";
