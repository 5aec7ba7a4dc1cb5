export { glossary as default } from "../dmlviz.workbench/page-ecb7d9ae1e1b3d12.js";
