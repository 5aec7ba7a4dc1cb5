"""What Explore offers to choose from: figures, projections, colors."""

from dmlviz.catalog.figures import FIGURES
from dmlviz.catalog.projection_engines import Engine
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig

# What the drawer below the map shows, by title, first what it opens with: figures, queries, all scores.
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


def is_color(name: object) -> bool:
    """Whether this is something that points can be colored by: a key of `COLOR_MODES`, or a column."""
    return isinstance(name, str) and (name in COLOR_MODES or (name.startswith(COLUMN) and len(name) <= 100))


def projection_views() -> list[str]:
    """Return the projections that a worker draws on request: all but those that a run plays by itself."""
    return [name for name, spec in PROJECTIONS.items() if not spec.native]
