export { sketch_search as default } from "../dmlviz.map/page-20900611dab9d964.js";
