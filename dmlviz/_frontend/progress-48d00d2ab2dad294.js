export { progress as default } from "../dmlviz.map/page-2f711b29313d8562.js";
