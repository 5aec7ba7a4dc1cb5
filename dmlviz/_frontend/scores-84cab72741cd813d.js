export { scores as default } from "../dmlviz.map/page-5b3ee675c2db516a.js";
