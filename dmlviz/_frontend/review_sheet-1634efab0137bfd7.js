export { review_sheet as default } from "../dmlviz.map/page-523f9192ae1f998e.js";
