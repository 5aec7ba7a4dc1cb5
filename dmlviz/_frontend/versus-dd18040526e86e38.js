export { versus as default } from "../dmlviz.map/page-5d9baba5991860d5.js";
