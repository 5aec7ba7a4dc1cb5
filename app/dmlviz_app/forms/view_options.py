"""Options of Explore: figures, projections with their cautions, colors."""

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.catalog.projections import PROJECTIONS, Engine, declarations
from dmlviz.config import ProjectionConfig
from dmlviz_app.widgets.protocol import MethodInfo

# The contents of the drawer below the map, by title, the default first: figures, queries, all scores.
SCORES = "scores"
QUERIES = "queries"
CURVES = {
    name: FIGURES[name].title
    for name in (
        "recall_at_k",
        "roc",
        "precision_recall",
        "distance_histogram",
        "confusion_matrix",
        "training_curves",
    )
} | {QUERIES: "Queries", SCORES: "All scores"}
COMPARED_CURVES = ("recall_at_k", "roc", "precision_recall", "distance_histogram")
COLOR_MODES = {
    "class": "Class",
    "error": "Error",
    "faithfulness": "Faithfulness",
    "center": "Distance to class center",
}
COLUMN = "column."  # before the name of a column that points are colored by
PROJECTION_FIELDS = tuple(name for name in ProjectionConfig.model_fields if name not in ("method", "params", "subset"))
OURS: Engine = "dmlviz"
TURNED = "The learned space, turned: it has no more dimensions than the map, so all distances are as they were."
TAUGHT = "It was drawn with the classes: that they lie apart here says nothing about the embedding."


def is_color(name: object) -> bool:
    """Return whether points can be colored by this: a key of `COLOR_MODES`, a column, or a role of a data set alone."""
    if not isinstance(name, str):
        return False
    is_role = any(name in spec.roles for spec in DATASETS.values())
    return name in COLOR_MODES or is_role or (name.startswith(COLUMN) and len(name) <= 100)


def projection_views() -> list[str]:
    """Return the projections that a worker draws on request: all but those that a run plays by itself."""
    return [name for name, spec in PROJECTIONS.items() if not spec.native]


def projection_infos() -> dict[str, MethodInfo]:
    """Collect title and caution of every projection, by name."""
    specs = [spec for name in PROJECTIONS for spec in declarations(name)]
    return {spec.name: {"title": spec.title, "caution": spec.caution} for spec in specs}
