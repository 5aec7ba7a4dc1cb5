export { threshold as default } from "../dmlviz.workbench/page-7f54d2e3ea01726a.js";
