export { progress as default } from "../dmlviz.map/page-98c67bbf767e02d6.js";
