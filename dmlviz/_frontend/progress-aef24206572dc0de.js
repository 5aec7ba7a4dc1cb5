export { progress as default } from "../dmlviz.map/page-56ff20c100bfa796.js";
