export { map_at_r_demo as default } from "../dmlviz.workbench/page-ad4fe6093c4ee46d.js";
