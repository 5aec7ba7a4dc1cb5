export { ranking_toy as default } from "../dmlviz.map/page-9a5c921d21032fe0.js";
