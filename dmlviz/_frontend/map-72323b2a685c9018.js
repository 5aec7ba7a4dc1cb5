export { map as default } from "../dmlviz.map/page-08bc9bf8bc8a48ac.js";
