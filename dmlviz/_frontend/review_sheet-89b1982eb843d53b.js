export { review_sheet as default } from "../dmlviz.workbench/page-9076fdc985d12e47.js";
