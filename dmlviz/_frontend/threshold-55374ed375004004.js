export { threshold as default } from "../dmlviz.map/page-d3ae70353a45580d.js";
