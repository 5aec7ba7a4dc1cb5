export { force_playground as default } from "../dmlviz.map/page-e56a5927ec858cee.js";
