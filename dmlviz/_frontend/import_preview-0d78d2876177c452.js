export { import_preview as default } from "../dmlviz.map/page-535bcc7dbd84befa.js";
