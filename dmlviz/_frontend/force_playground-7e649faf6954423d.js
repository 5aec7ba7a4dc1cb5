export { force_playground as default } from "../dmlviz.map/page-b5b84d6a6413a09e.js";
