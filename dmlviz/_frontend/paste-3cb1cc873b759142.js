export { paste as default } from "../dmlviz.map/page-535bcc7dbd84befa.js";
