// Components with a script of their own, since few pages mount them: what all others are in stays small, and as it is.
export const OWN = {
  review_sheet: "src/clean/review_sheet/reviewSheet.tsx",
  lab_picture: "src/labs/lab_picture/labPicture.tsx",
  lab_planes: "src/labs/lab_planes/labPlanes.tsx",
  metric_playground: "src/labs/metric_playground/metricPlayground.tsx",
  sketch_search: "src/labs/sketch_search/sketchSearch.tsx",
  threshold: "src/labs/threshold/threshold.tsx",
  tracker: "src/labs/tracker/tracker.tsx",
  code_tab: "src/learn/code_tab/codeTab.tsx",
  force_playground: "src/learn/force_playground/forcePlayground.tsx",
  layout_playground: "src/learn/layout_playground/layoutPlayground.tsx",
  loss_plot: "src/learn/loss_plot/lossPlot.tsx",
  map_at_r_demo: "src/learn/map_at_r_demo/mapAtRDemo.tsx",
  ranking_toy: "src/learn/ranking_toy/rankingToy.tsx",
  small_figures: "src/learn/small_figures/smallFigures.tsx",
  run_list: "src/runs/run_list/runList.tsx",
  architecture: "src/widgets/architecture/architecture.tsx",
};
