export { import_preview as default } from "../dmlviz.map/page-861fa618ec6c5807.js";
