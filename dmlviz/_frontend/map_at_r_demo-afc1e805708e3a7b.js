export { map_at_r_demo as default } from "../dmlviz.map/page-535bcc7dbd84befa.js";
