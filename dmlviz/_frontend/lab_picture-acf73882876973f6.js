export { lab_picture as default } from "../dmlviz.map/page-be57ca1d27acedf9.js";
