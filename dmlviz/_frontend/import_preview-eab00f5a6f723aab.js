export { import_preview as default } from "../dmlviz.workbench/page-a141da976c35556c.js";
