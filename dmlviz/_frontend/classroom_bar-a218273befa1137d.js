export { classroom_bar as default } from "../dmlviz.map/page-a2fe851bd26a5770.js";
