export { lab_picture as default } from "../dmlviz.map/page-9b1465c33d65704b.js";
