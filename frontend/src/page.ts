// Everything that the app's pages mount, by the name under which Python asks for it.
export { default as map } from "./map/control/main.ts";
export { default as inspector } from "./panels/inspector/inspector.ts";
export { default as readouts } from "./panels/scores/scores.ts";
export { default as curve } from "./panels/loss_curve/lossCurve.ts";
export { default as progress } from "./panels/progress/progress.ts";
export { default as study } from "./panels/detail/detail.ts";
export { default as pad } from "./panels/query_pad/queryPad.ts";
export { default as paste } from "./panels/paste/paste.ts";
export { default as shelf } from "./panels/run_list/runList.ts";
export { default as versus } from "./panels/compare_scores/compareScores.ts";
export { default as keep } from "./panels/export/export.ts";
export { default as look } from "./panels/import_preview/importPreview.ts";
export { default as lossview } from "./batch_explorer/batchExplorer.ts";
export { default as lossplot } from "./learn/loss_plot/lossPlot.ts";
export { default as plane } from "./learn/force_playground/forcePlayground.ts";
export { default as spaces } from "./learn/map_at_r_demo/mapAtRDemo.ts";
