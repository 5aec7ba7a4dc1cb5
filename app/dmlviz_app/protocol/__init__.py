"""Messages between server and page, as types: props of the components, answers of routes; not the events of a run.

frontend/protocol.mjs makes TypeScript of them. Names that cross are named here and nowhere else. The types are
typing_extensions' TypedDict: pydantic, which checks them in the tests, takes no other in Python 3.11.
"""

from importlib import import_module
from pkgutil import iter_modules

from dmlviz_app.protocol import (
    cards,
    classroom,
    cleaning,
    export,
    labs,
    learn,
    losses,
    maps,
    progress,
    query,
    run_list,
    uploads,
    workbench,
)

MODULES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]

PROPS: dict[str, type] = {
    "workbench": workbench.WorkbenchProps,
    "help": workbench.HelpProps,
    "progress": progress.ProgressProps,
    "baseline_wait": progress.BaselineWaitProps,
    "script_preload": progress.ScriptPreloadProps,
    "query_pad": query.PadProps,
    "run_list": run_list.RunListProps,
    "export": export.ExportProps,
    "import_preview": uploads.ImportPreviewProps,
    "batch_explorer": maps.BatchExplorerProps,
    "glossary": learn.GlossaryProps,
    "card_index": cards.CardIndexProps,
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
