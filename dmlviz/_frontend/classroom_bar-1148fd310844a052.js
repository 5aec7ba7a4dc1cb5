export { classroom_bar as default } from "../dmlviz.map/page-ecb88615e106c05e.js";
