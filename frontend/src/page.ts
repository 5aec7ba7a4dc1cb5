// Everything that the app's pages mount, by the name under which Python asks for it.
export { default as map } from "./map/control/main.ts";
export { default as inspector } from "./panels/inspector/inspector.ts";
export { default as scores } from "./panels/scores/scores.ts";
export { default as loss_curve } from "./panels/loss_curve/lossCurve.ts";
export { default as progress } from "./panels/progress/progress.ts";
export { default as detail } from "./panels/detail/detail.ts";
export { default as query_pad } from "./panels/query_pad/queryPad.ts";
export { default as paste } from "./panels/paste/paste.ts";
export { default as run_list } from "./panels/run_list/runList.ts";
export { default as compare_scores } from "./panels/compare_scores/compareScores.ts";
export { default as export } from "./panels/export/export.ts";
export { default as import_preview } from "./panels/import_preview/importPreview.ts";
export { default as batch_explorer } from "./batch_explorer/batchExplorer.ts";
export { default as loss_plot } from "./learn/loss_plot/lossPlot.ts";
export { default as force_playground } from "./learn/force_playground/forcePlayground.ts";
export { default as map_at_r_demo } from "./learn/map_at_r_demo/mapAtRDemo.ts";
