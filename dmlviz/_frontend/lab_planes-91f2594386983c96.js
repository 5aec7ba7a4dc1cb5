export { lab_planes as default } from "../dmlviz.map/page-135dd0b6268b20a4.js";
