export { export as default } from "../dmlviz.map/page-5c8cd3674b45802c.js";
