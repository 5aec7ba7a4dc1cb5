export { scores as default } from "../dmlviz.map/page-66326b5c74ff3fbc.js";
