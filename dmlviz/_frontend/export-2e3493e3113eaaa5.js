export { export as default } from "../dmlviz.map/page-0208b99063ea1d83.js";
