export { lossview as default } from "../dmlviz.map/page-b9c15c28a362268e.js";
