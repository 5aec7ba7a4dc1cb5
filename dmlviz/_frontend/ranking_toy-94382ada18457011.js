export { ranking_toy as default } from "../dmlviz.map/page-68533326573a911f.js";
