export { map as default } from "../dmlviz.map/page-321a163f57bd06b2.js";
