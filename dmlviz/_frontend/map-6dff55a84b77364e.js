export { map as default } from "../dmlviz.map/page-c726153c8e21e445.js";
