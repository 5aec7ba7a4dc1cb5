export { paste as default } from "../dmlviz.map/page-3383707aff757cef.js";
