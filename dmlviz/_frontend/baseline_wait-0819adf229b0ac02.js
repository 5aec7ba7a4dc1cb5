export { baseline_wait as default } from "../dmlviz.workbench/page-3f56f6ab66eb74ed.js";
