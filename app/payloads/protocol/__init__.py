"""What server and page say to each other, as types: props of the components, events of a run, answers of routes.

scripts/generate_protocol.py writes the same as TypeScript, and a test holds the two equal. Names that cross are named
here and nowhere else. The types are typing_extensions' TypedDict: pydantic, which checks them in the tests, takes no
other in Python 3.11.
"""

from app.payloads.protocol import (
    batches,
    classroom,
    cleaning,
    columns,
    common,
    compare,
    events,
    export,
    inspector,
    labs,
    losses,
    maps,
    progress,
    query,
    run_list,
    uploads,
)

MODULES = (
    common,
    events,
    maps,
    inspector,
    query,
    progress,
    run_list,
    compare,
    export,
    uploads,
    losses,
    batches,
    classroom,
    labs,
    cleaning,
    columns,
)

PROPS: dict[str, type] = {
    "map": maps.MapProps,
    "inspector": inspector.InspectorProps,
    "scores": common.Source,
    "loss_curve": common.Source,
    "progress": progress.ProgressProps,
    "detail": maps.DetailProps,
    "baseline_wait": progress.BaselineWaitProps,
    "query_pad": query.PadProps,
    "paste": query.PasteProps,
    "run_list": run_list.RunListProps,
    "compare_scores": compare.CompareProps,
    "export": export.ExportProps,
    "import_preview": uploads.ImportPreviewProps,
    "batch_explorer": common.Source,
    "loss_plot": losses.LossPlotProps,
    "force_playground": losses.ForcePlaygroundProps,
    "map_at_r_demo": losses.MapAtRProps,
    "ranking_toy": losses.RankingToyProps,
    "classroom_bar": classroom.ClassroomBarProps,
    "classroom_board": classroom.ClassroomBoardProps,
    "lab_picture": labs.LabPictureProps,
    "lab_planes": labs.LabPlanesProps,
    "sketch_search": labs.SketchSearchProps,
    "tracker": labs.TrackerProps,
    "metric_playground": labs.MetricPlaygroundProps,
    "review_sheet": cleaning.ReviewProps,
    "threshold": labs.ThresholdProps,
}
