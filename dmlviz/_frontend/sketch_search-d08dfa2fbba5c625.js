export { sketch_search as default } from "../dmlviz.map/page-8fced1b2188474fd.js";
