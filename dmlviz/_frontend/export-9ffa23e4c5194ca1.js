export { export as default } from "../dmlviz.map/page-135dd0b6268b20a4.js";
