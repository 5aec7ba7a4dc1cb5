export { shelf as default } from "../dmlviz.map/page-a9f6ff7316ff32da.js";
