export { batch_explorer as default } from "../dmlviz.workbench/page-819fc27fe12e62ae.js";
