export { look as default } from "../dmlviz.map/page-6c85a82745e4d84e.js";
