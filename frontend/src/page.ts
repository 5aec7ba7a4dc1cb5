// Everything that the app's pages mount, by the name under which Python asks for it.
import compare from "./compare/compare_scores/compareScores.ts";
import welcome from "./welcome/welcome.ts";
import { workbenchComponent } from "./workbench/workbench.ts";

export const workbench = workbenchComponent({ compare, welcome });
export { default as help } from "./welcome/help.ts";
export { default as progress } from "./workbench/progress/progress.ts";
export { default as query_pad } from "./workbench/query_pad/queryPad.ts";
export { default as baseline_wait } from "./workbench/baseline_wait/baselineWait.ts";
export { default as script_preload } from "./explore/script_preload/scriptPreload.ts";
export { default as run_list } from "./runs/run_list/runList.ts";
export { default as export } from "./explore/export/export.ts";
export { default as import_preview } from "./explore/import_preview/importPreview.ts";
export { default as batch_explorer } from "./batch_explorer/batchExplorer.ts";
export { default as loss_plot } from "./learn/loss_plot/lossPlot.ts";
export { default as force_playground } from "./learn/force_playground/forcePlayground.ts";
export { default as map_at_r_demo } from "./learn/map_at_r_demo/mapAtRDemo.ts";
export { default as ranking_toy } from "./learn/ranking_toy/rankingToy.ts";
export { default as classroom_bar } from "./classroom/bar.ts";
export { default as classroom_board } from "./classroom/board.ts";
export { default as lab_picture } from "./labs/lab_picture/labPicture.ts";
export { default as lab_planes } from "./labs/lab_planes/labPlanes.ts";
export { default as sketch_search } from "./labs/sketch_search/sketchSearch.ts";
export { default as tracker } from "./labs/tracker/tracker.ts";
export { default as metric_playground } from "./labs/metric_playground/metricPlayground.ts";
export { default as review_sheet } from "./clean/review_sheet/reviewSheet.ts";
export { default as threshold } from "./labs/threshold/threshold.ts";
