export { map_at_r_demo as default } from "../dmlviz.map/page-be57ca1d27acedf9.js";
