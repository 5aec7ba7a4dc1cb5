"""What Explore offers to choose from: figures, projections, colors."""

from dmlviz.catalog.projection_engines import Engine
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig

# What the drawer below the map shows, first what it opens with.
CURVES = ("recall_at_k", "roc", "distance_histogram", "confusion_matrix", "training_curves")
COLOR_MODES = {
    "class": "Class",
    "error": "Error",
    "faithfulness": "Faithfulness",
    "center": "Distance to class center",
}
PROJECTION_FIELDS = tuple(name for name in ProjectionConfig.model_fields if name not in ("method", "params"))
OURS: Engine = "dmlviz"


def projection_views() -> list[str]:
    """Return the projections that a worker draws on request: all but those that a run plays by itself."""
    return [name for name, spec in PROJECTIONS.items() if not spec.native]
