export { query_pad as default } from "../dmlviz.map/page-3e2745e172b6a04c.js";
