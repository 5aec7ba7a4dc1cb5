"""Whether a distance tells if two images show the same class: ROC, precision over recall, histograms."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from dmlviz.figures.data import Measured, images
from dmlviz.figures.palette import DIFFERENT, SAME
from dmlviz.figures.style import ACCENT, MUTED, SQUARE, figure, theme_of
from dmlviz.metrics import curves


def roc(embeddings: Any, labels: Any = None, *, step: int | None = None, dark: bool = False) -> go.Figure:
    """The receiver operating characteristic of the distance: of a run, or of embeddings (n × d) with class ids (n).

    Of a run at the end, or after `step` batches. Drawn are a few hundred points: see `metrics.curves.outline`. Raises
    UserError as `dmlviz.metrics.curves.roc`.
    """
    found = images(embeddings, labels, step)
    return draw_roc(Measured(curves.roc(found.embeddings, found.labels), found.classes, found.about), dark)


def draw_roc(measured: Measured, dark: bool = False) -> go.Figure:
    """The figure of a measured curve."""
    curve, theme = measured.data, theme_of(dark)
    drawn = curves.outline(curve.false_positives, curve.recall)
    line = go.Scatter(
        x=curve.false_positives[drawn],
        y=curve.recall[drawn],
        customdata=_shown(curve.thresholds[drawn]),
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
        f"{measured.about}; {_judged(curve)}",
        theme,
        xaxis={"title": "false positive rate", "range": [-0.01, 1.01], **SQUARE},
        yaxis={"title": "recall (true positive rate)", "range": [-0.01, 1.01], "scaleanchor": "x"},
        showlegend=False,
    )


def precision_recall(embeddings: Any, labels: Any = None, *, step: int | None = None, dark: bool = False) -> go.Figure:
    """Precision over recall of the pairs that `roc` judges, with the same arguments and errors."""
    found = images(embeddings, labels, step)
    curve = curves.precision_recall(found.embeddings, found.labels)
    return draw_precision_recall(Measured(curve, found.classes, found.about), dark)


def draw_precision_recall(measured: Measured, dark: bool = False) -> go.Figure:
    """The figure of a measured curve."""
    curve, theme = measured.data, theme_of(dark)
    drawn = curves.outline(curve.recall, curve.precision)
    line = go.Scatter(
        x=curve.recall[drawn],
        y=curve.precision[drawn],
        customdata=_shown(curve.thresholds[drawn]),
        mode="lines",
        line={"color": ACCENT[theme], "width": 2},
        hovertemplate="up to distance %{customdata:.3f}:<br>%{x:.2%} of the pairs of one class are found,<br>"
        "%{y:.2%} of what is found is of one class<extra></extra>",
    )
    return figure(
        [line],
        f"Precision over recall: average precision {curve.average_precision:.4f}",
        f"{measured.about}; {_judged(curve)}",
        theme,
        xaxis={"title": "recall", "range": [-0.01, 1.01]},
        yaxis={"title": "precision", "rangemode": "tozero"},
        showlegend=False,
    )


def distance_histogram(
    embeddings: Any, labels: Any = None, *, step: int | None = None, bins: int = curves.BINS, dark: bool = False
) -> go.Figure:
    """How far apart two images of one class are, and two of different classes: all pairs, in at most `bins` bins.

    Of a run (at the end, or after `step` batches), or of embeddings (n × d) with class ids (n).
    """
    found = images(embeddings, labels, step)
    counted = curves.distance_histogram(found.embeddings, found.labels, bins)
    return draw_distance_histogram(Measured(counted, found.classes, found.about), dark)


def draw_distance_histogram(measured: Measured, dark: bool = False) -> go.Figure:
    """The figure of counted pairs: each kind by its shares, since there are far more pairs of two classes."""
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


def _judged(curve: curves.Roc | curves.PrecisionRecall) -> str:
    """Which pairs were judged, drawn at random or not."""
    alike, unlike = curve.of
    if alike == unlike == curve.pairs:
        return f"all {alike:,} pairs of one class and all {unlike:,} of two"
    return (
        f"{curve.pairs:,} of the {alike:,} pairs of one class, and as many of the {unlike:,} of two: those that the "
        "table of scores judges"
    )


def _shown(thresholds: np.ndarray) -> np.ndarray:
    """Distances that can be read: nothing is accepted below 0."""
    return np.maximum(thresholds, 0)
