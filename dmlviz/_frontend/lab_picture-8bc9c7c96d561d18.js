export { lab_picture as default } from "../dmlviz.map/page-f9010162d4ea4ee0.js";
