export { card_index as default } from "../dmlviz.workbench/page-3ba77f22ac59b453.js";
