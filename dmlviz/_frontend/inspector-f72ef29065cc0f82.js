export { inspector as default } from "../dmlviz.map/page-ecb88615e106c05e.js";
