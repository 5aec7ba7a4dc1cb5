export { review_sheet as default } from "../dmlviz.map/page-e7313885ee0d78cd.js";
