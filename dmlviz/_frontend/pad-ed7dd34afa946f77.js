export { pad as default } from "../dmlviz.map/page-fe2266b3ab277768.js";
