export { export as default } from "../dmlviz.workbench/page-66d8a7e5e4ede597.js";
