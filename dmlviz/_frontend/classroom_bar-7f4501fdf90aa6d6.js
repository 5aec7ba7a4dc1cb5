export { classroom_bar as default } from "../dmlviz.map/page-3c930db1ccb735f0.js";
