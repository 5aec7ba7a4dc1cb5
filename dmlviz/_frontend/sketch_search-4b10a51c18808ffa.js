export { sketch_search as default } from "../dmlviz.map/page-68533326573a911f.js";
