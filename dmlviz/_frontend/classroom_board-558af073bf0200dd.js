export { classroom_board as default } from "../dmlviz.map/page-da7375f722df21e7.js";
