export { compare_scores as default } from "../dmlviz.map/page-fbd602b29e5551c1.js";
