export { classroom_bar as default } from "../dmlviz.map/page-5c8cd3674b45802c.js";
