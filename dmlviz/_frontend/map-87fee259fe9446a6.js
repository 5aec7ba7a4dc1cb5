export { map as default } from "../dmlviz.map/page-dba54c24fbdbd198.js";
