export { map_at_r_demo as default } from "../dmlviz.map/page-321a163f57bd06b2.js";
