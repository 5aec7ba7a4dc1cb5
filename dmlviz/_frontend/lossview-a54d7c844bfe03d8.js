export { lossview as default } from "../dmlviz.map/page-b768dabbbde6d8fe.js";
