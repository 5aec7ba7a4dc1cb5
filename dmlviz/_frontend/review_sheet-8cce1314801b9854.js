export { review_sheet as default } from "../dmlviz.map/page-553f9b1427666374.js";
