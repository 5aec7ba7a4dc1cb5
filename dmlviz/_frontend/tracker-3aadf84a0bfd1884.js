export { tracker as default } from "../dmlviz.workbench/page-1812d6ecb913274b.js";
