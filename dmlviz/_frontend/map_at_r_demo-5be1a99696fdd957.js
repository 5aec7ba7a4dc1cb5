export { map_at_r_demo as default } from "../dmlviz.map/page-135dd0b6268b20a4.js";
