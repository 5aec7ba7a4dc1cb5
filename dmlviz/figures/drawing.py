"""Draws a figure by its name: of a run, or from data measured before by callers that draw several times."""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import plotly.graph_objects as go

from dmlviz import figures
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.errors import UserError
from dmlviz.figures.data import Measured
from dmlviz.figures.maps import draw_map
from dmlviz.figures.pairs import draw_distance_histogram, draw_precision_recall, draw_roc
from dmlviz.figures.retrieval import draw_confusion_matrix, draw_recall_at_k, draw_scores_by_dimension
from dmlviz.figures.training import draw_training_curves
from dmlviz.runs.run import Run
from dmlviz.storage.text import one_line

__all__ = ["OVERLAID", "draw", "draw_map", "draw_run"]

OVERLAID = ("recall_at_k", "roc", "precision_recall", "distance_histogram", "scores_by_dimension")

_DRAWERS = {
    "recall_at_k": draw_recall_at_k,
    "roc": draw_roc,
    "precision_recall": draw_precision_recall,
    "distance_histogram": draw_distance_histogram,
    "confusion_matrix": draw_confusion_matrix,
    "scores_by_dimension": draw_scores_by_dimension,
    "training_curves": draw_training_curves,
}


def draw_run(name: str, run: Run, options: Mapping[str, Any]) -> go.Figure:
    """Return a figure of a run.

    Args:
        name: A function of `dmlviz.figures`.
        run: The run.
        options: Its options.

    Raises:
        UserError: For an option that it does not have.
    """
    function = getattr(figures, name)
    names = [each.name for each in signature(function).parameters.values() if each.kind is each.KEYWORD_ONLY]
    for option in options:
        if option not in names:
            raise UserError(f"{name} takes {', '.join(names)}; got {one_line(option, 40)}: leave it out.")
    figure: go.Figure = function(run, **options)
    return figure


def draw(
    name: str, measured: Measured, dark: bool = False, beside: Sequence[Measured] = (), **options: Any
) -> go.Figure:
    """Return a figure from the result of `figures.data.measure`.

    Args:
        name: Name of the figure.
        measured: Its data.
        dark: Use the dark theme.
        beside: The same of other embeddings, drawn into the figure; for those of `OVERLAID`.
        **options: Options of the figure, as `log_x` of the ROC.

    Raises:
        UserError: For an unknown name.
    """
    _ = FIGURES[name]
    others: dict[str, Any] = {"beside": beside} if name in OVERLAID else {}
    figure: go.Figure = _DRAWERS[name](measured, dark, **others, **options)
    return figure
