"""The figure of what was measured before, by name: for whoever measures once and draws often."""

import plotly.graph_objects as go

from dmlviz.figures.data import Measured
from dmlviz.figures.declared import FIGURES
from dmlviz.figures.maps import draw_map
from dmlviz.figures.pairs import draw_distance_histogram, draw_precision_recall, draw_roc
from dmlviz.figures.retrieval import draw_confusion_matrix, draw_recall_at_k
from dmlviz.figures.training import draw_training_curves

__all__ = ["draw", "draw_map"]

_DRAWN = {
    "recall_at_k": draw_recall_at_k,
    "roc": draw_roc,
    "precision_recall": draw_precision_recall,
    "distance_histogram": draw_distance_histogram,
    "confusion_matrix": draw_confusion_matrix,
    "training_curves": draw_training_curves,
}


def draw(name: str, measured: Measured, dark: bool = False) -> go.Figure:
    """The figure of that name of what `figures.data.measure` measured; raise UserError for an unknown name."""
    _ = FIGURES[name]
    return _DRAWN[name](measured, dark)
