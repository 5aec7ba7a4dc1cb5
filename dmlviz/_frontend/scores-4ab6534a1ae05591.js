export { scores as default } from "../dmlviz.map/page-56bfb3966304b2d2.js";
