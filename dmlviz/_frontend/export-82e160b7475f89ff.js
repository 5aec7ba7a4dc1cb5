export { export as default } from "../dmlviz.map/page-5b3ee675c2db516a.js";
