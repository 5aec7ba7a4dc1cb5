"""Verification figures: ROC, precision-recall, distance histograms."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from dmlviz.figures.data import Measured, images
from dmlviz.figures.palette import DIFFERENT, SAME
from dmlviz.figures.style import ACCENT, MUTED, SQUARE, figure, theme_of
from dmlviz.metrics import curves


def roc(embeddings: Any, labels: Any = None, *, step: int | None = None, dark: bool = False) -> go.Figure:
    """Draw the ROC curve of the distance between two images, thinned to a few hundred points.

    Args:
        embeddings: a run, or embeddings (n × d).
        labels: class IDs (n), for embeddings.
        step: a step of the run; by default its end.
        dark: use the dark theme.

    Raises:
        UserError: as `dmlviz.metrics.curves.roc`.

    Example:
        >>> import numpy as np
        >>> roc(np.eye(6), [0, 0, 0, 1, 1, 1]).layout.title.text
        'ROC of the distance: area 0.5000'
    """
    selected = images(embeddings, labels, step)
    return draw_roc(Measured(curves.roc(selected.embeddings, selected.labels), selected.classes, selected.about), dark)


def draw_roc(measured: Measured, dark: bool = False) -> go.Figure:
    """Draw a measured curve."""
    curve, theme = measured.data, theme_of(dark)
    drawn = curves.outline(curve.false_positives, curve.recall)
    line = go.Scatter(
        x=curve.false_positives[drawn],
        y=curve.recall[drawn],
        customdata=_readable_thresholds(curve.thresholds[drawn]),
        mode="lines",
        line={"color": ACCENT[theme], "width": 2},
        hovertemplate="up to distance %{customdata:.3f}:<br>%{y:.2%} of the pairs of one class,<br>"
        "%{x:.2%} of the pairs of two<extra></extra>",
    )
    chance = go.Scatter(
        x=[0, 0.5, 1],
        y=[0, 0.5, 1],
        mode="lines+text",
        text=["", "chance", ""],
        textposition="bottom right",
        textfont={"color": MUTED[theme]},
        line={"color": MUTED[theme], "width": 1, "dash": "dot"},
        hoverinfo="skip",
    )
    return figure(
        [line, chance],
        f"ROC of the distance: area {curve.area:.4f}",
        f"{measured.about}; {_pairs_text(curve)}",
        theme,
        xaxis={"title": "false positive rate", "range": [-0.01, 1.01], **SQUARE},
        yaxis={"title": "recall (true positive rate)", "range": [-0.01, 1.01], "scaleanchor": "x"},
        showlegend=False,
    )


def precision_recall(embeddings: Any, labels: Any = None, *, step: int | None = None, dark: bool = False) -> go.Figure:
    """Draw precision over recall of the pairs in `roc`, with the same arguments and errors."""
    selected = images(embeddings, labels, step)
    curve = curves.precision_recall(selected.embeddings, selected.labels)
    return draw_precision_recall(Measured(curve, selected.classes, selected.about), dark)


def draw_precision_recall(measured: Measured, dark: bool = False) -> go.Figure:
    """Draw a measured curve."""
    curve, theme = measured.data, theme_of(dark)
    drawn = curves.outline(curve.recall, curve.precision)
    line = go.Scatter(
        x=curve.recall[drawn],
        y=curve.precision[drawn],
        customdata=_readable_thresholds(curve.thresholds[drawn]),
        mode="lines",
        line={"color": ACCENT[theme], "width": 2},
        hovertemplate="up to distance %{customdata:.3f}:<br>%{x:.2%} of the pairs of one class are found,<br>"
        "%{y:.2%} of what is found is of one class<extra></extra>",
    )
    return figure(
        [line],
        f"Precision over recall: average precision {curve.average_precision:.4f}",
        f"{measured.about}; {_pairs_text(curve)}",
        theme,
        xaxis={"title": "recall", "range": [-0.01, 1.01]},
        yaxis={"title": "precision", "rangemode": "tozero"},
        showlegend=False,
    )


def distance_histogram(
    embeddings: Any, labels: Any = None, *, step: int | None = None, bins: int = curves.BINS, dark: bool = False
) -> go.Figure:
    """Draw histograms of all distances within and between classes.

    Args:
        embeddings: a run, or embeddings (n × d).
        labels: class IDs (n), for embeddings.
        step: a step of the run; by default its end.
        bins: maximum number of bins.
        dark: use the dark theme.
    """
    selected = images(embeddings, labels, step)
    counted = curves.distance_histogram(selected.embeddings, selected.labels, bins)
    return draw_distance_histogram(Measured(counted, selected.classes, selected.about), dark)


def draw_distance_histogram(measured: Measured, dark: bool = False) -> go.Figure:
    """Draw counted pairs as fractions of each kind, since most pairs are between classes."""
    counted, theme = measured.data, theme_of(dark)
    middles, width = (counted.edges[1:] + counted.edges[:-1]) / 2, float(counted.edges[1])
    kinds = [("two classes", counted.different, DIFFERENT), ("one class", counted.same, SAME)]
    bars = [
        go.Bar(
            x=middles,
            y=counts / max(int(counts.sum()), 1),
            width=width,
            name=f"pairs of {name}: {int(counts.sum()):,}",
            customdata=np.stack([counted.edges[:-1], counted.edges[1:], counts], axis=1),
            marker={"color": color[theme], "opacity": 0.55, "line": {"width": 0}},
            hovertemplate=f"distance %{{customdata[0]:.3f}} to %{{customdata[1]:.3f}}:<br>%{{y:.2%}} of the pairs of "
            f"{name},<br>%{{customdata[2]:,.0f}} of them<extra></extra>",
        )
        for name, counts, color in kinds
    ]
    total = int(counted.same.sum() + counted.different.sum())
    return figure(
        bars,
        "Distances within and between classes",
        f"{measured.about}; all {total:,} pairs, none sampled",
        theme,
        barmode="overlay",
        bargap=0,
        xaxis={"title": "Euclidean distance", "rangemode": "tozero"},
        yaxis={"title": "share of the pairs of that kind", "tickformat": ".2~p"},
        legend={"traceorder": "reversed"},
    )


def _pairs_text(curve: curves.Roc | curves.PrecisionRecall) -> str:
    """Describe the pairs of a curve."""
    alike, unlike = curve.of
    if alike == unlike == curve.pairs:
        return f"all {alike:,} pairs of one class and all {unlike:,} of two"
    return (
        f"{curve.pairs:,} of the {alike:,} pairs of one class, and as many of the {unlike:,} of two: those that the "
        "table of scores judges"
    )


def _readable_thresholds(thresholds: np.ndarray) -> np.ndarray:
    """Clip thresholds to readable distances."""
    distances: np.ndarray = np.maximum(thresholds, 0)
    return distances
