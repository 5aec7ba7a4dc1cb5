export { ranking_toy as default } from "../dmlviz.map/page-e2713e538a955cea.js";
