export { inspector as default } from "../dmlviz.map/page-286d924112bf2ac3.js";
