export { detail as default } from "../dmlviz.map/page-56ab84e67b6622d2.js";
