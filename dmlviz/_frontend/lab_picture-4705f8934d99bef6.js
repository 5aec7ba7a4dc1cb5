export { lab_picture as default } from "../dmlviz.map/page-9d5891297144db3c.js";
