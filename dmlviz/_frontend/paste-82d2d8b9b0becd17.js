export { paste as default } from "../dmlviz.map/page-49e26dab2579ecb8.js";
