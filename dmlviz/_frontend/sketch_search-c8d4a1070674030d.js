export { sketch_search as default } from "../dmlviz.workbench/page-ad4fe6093c4ee46d.js";
