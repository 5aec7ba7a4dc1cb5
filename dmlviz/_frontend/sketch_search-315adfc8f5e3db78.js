export { sketch_search as default } from "../dmlviz.map/page-be57ca1d27acedf9.js";
