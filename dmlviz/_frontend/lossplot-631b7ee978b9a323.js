export { lossplot as default } from "../dmlviz.map/page-a23afbfca262cfdb.js";
