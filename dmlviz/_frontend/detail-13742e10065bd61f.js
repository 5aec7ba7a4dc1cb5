export { detail as default } from "../dmlviz.map/page-888c0a61f9fc5fbf.js";
