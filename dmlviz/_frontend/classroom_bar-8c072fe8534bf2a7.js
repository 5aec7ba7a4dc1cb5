export { classroom_bar as default } from "../dmlviz.map/page-535bcc7dbd84befa.js";
