"""Draws a figure from data measured before, for callers that measure once and draw several times."""

import plotly.graph_objects as go

from dmlviz.catalog.figures import FIGURES
from dmlviz.figures.data import Measured
from dmlviz.figures.maps import draw_map
from dmlviz.figures.pairs import draw_distance_histogram, draw_precision_recall, draw_roc
from dmlviz.figures.retrieval import draw_confusion_matrix, draw_recall_at_k
from dmlviz.figures.training import draw_training_curves

__all__ = ["draw", "draw_map"]

_DRAWERS = {
    "recall_at_k": draw_recall_at_k,
    "roc": draw_roc,
    "precision_recall": draw_precision_recall,
    "distance_histogram": draw_distance_histogram,
    "confusion_matrix": draw_confusion_matrix,
    "training_curves": draw_training_curves,
}


def draw(name: str, measured: Measured, dark: bool = False) -> go.Figure:
    """Draw a figure from the result of `figures.data.measure`; raise UserError for an unknown name."""
    _ = FIGURES[name]
    return _DRAWERS[name](measured, dark)
