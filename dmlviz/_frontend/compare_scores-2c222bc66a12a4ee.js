export { compare_scores as default } from "../dmlviz.map/page-5c8cd3674b45802c.js";
