"""Draws a figure from data measured before, for callers that measure once and draw several times."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from dmlviz.catalog.figures import FIGURES
from dmlviz.figures.data import Measured
from dmlviz.figures.maps import draw_map
from dmlviz.figures.pairs import draw_distance_histogram, draw_precision_recall, draw_roc
from dmlviz.figures.retrieval import draw_confusion_matrix, draw_recall_at_k
from dmlviz.figures.training import draw_training_curves

__all__ = ["OVERLAID", "draw", "draw_map"]

OVERLAID = ("recall_at_k", "roc", "precision_recall", "distance_histogram")

_DRAWERS = {
    "recall_at_k": draw_recall_at_k,
    "roc": draw_roc,
    "precision_recall": draw_precision_recall,
    "distance_histogram": draw_distance_histogram,
    "confusion_matrix": draw_confusion_matrix,
    "training_curves": draw_training_curves,
}


def draw(
    name: str, measured: Measured, dark: bool = False, beside: Sequence[Measured] = (), **options: Any
) -> go.Figure:
    """Draw a figure from the result of `figures.data.measure`; raise UserError for an unknown name.

    Args:
        name: name of the figure.
        measured: its data.
        dark: use the dark theme.
        beside: the same of other embeddings, drawn into the figure; for those of `OVERLAID`.
        **options: options of the figure, as `log_x` of the ROC.
    """
    _ = FIGURES[name]
    others: dict[str, Any] = {"beside": beside} if name in OVERLAID else {}
    figure: go.Figure = _DRAWERS[name](measured, dark, **others, **options)
    return figure
