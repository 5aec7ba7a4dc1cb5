export { map as default } from "../dmlviz.map/page-96d31bce72fdd3f4.js";
