export { lab_picture as default } from "../dmlviz.map/page-68533326573a911f.js";
