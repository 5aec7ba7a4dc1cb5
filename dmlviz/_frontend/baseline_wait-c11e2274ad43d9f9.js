export { baseline_wait as default } from "../dmlviz.map/page-f5661dba89696b14.js";
