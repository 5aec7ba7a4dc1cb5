export { query_pad as default } from "../dmlviz.map/page-0208b99063ea1d83.js";
