export { spaces as default } from "../dmlviz.map/page-3ad1173530c19e01.js";
