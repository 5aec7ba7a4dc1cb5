"""Verification figures: ROC, precision-recall, distance histograms."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dmlviz.figures.data import Measured, images
from dmlviz.figures.palette import DIFFERENT, SAME, Theme
from dmlviz.figures.style import MUTED, SQUARE, curve, curve_beside, figure, theme_of
from dmlviz.metrics import curves, distance_histograms


def roc(embeddings: Any, labels: Any = None, *, step: int | None = None, dark: bool = False) -> go.Figure:
    """Return the ROC curve of the distance between two images, thinned to a few hundred points, as a figure.

    Args:
        embeddings: A run, or embeddings (n × d).
        labels: Class IDs (n), for embeddings.
        step: A step of the run; by default its end.
        dark: Use the dark theme.

    Raises:
        UserError: As `dmlviz.metrics.curves.roc`.

    Examples:
        >>> import numpy as np
        >>> roc(np.eye(6), [0, 0, 0, 1, 1, 1]).layout.title.text
        'ROC of the distance: area 0.5000'
    """
    points = images(embeddings, labels, step)
    return draw_roc(Measured(curves.roc(points.embeddings, points.labels), points.classes, points.about), dark)


def draw_roc(measured: Measured, dark: bool = False, beside: Sequence[Measured] = (), log_x: bool = False) -> go.Figure:
    """Draw a measured curve, and others beside it; `log_x` for a logarithmic axis of the false positive rate."""
    roc, theme = measured.data, theme_of(dark)
    hover = "up to distance %{customdata:.3f}:<br>%{y:.2%} of the pairs of one class,<br>%{x:.2%} of the pairs of two"
    traces: list[Any] = _curves(
        [measured, *beside], lambda data: _roc_curve(data, log_x), lambda data: f"area {data.area:.4f}", hover, theme
    )
    lowest = 1 / roc.pairs
    chance = np.geomspace(lowest, 1, 60) if log_x else np.array([0, 0.5, 1])
    traces.append(
        go.Scatter(
            x=chance,
            y=chance,
            mode="lines+text",
            text=["" if i != len(chance) // 2 else "chance" for i in range(len(chance))],
            textposition="bottom right",
            textfont={"color": MUTED[theme]},
            line={"color": MUTED[theme], "width": 1, "dash": "dot"},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    x_axis: dict[str, Any] = {"title": "false positive rate", "range": [-0.01, 1.01], **SQUARE}
    y_axis: dict[str, Any] = {"title": "recall (true positive rate)", "range": [-0.01, 1.01]}
    if log_x:
        x_axis |= {"type": "log", "range": [np.log10(lowest), 0.01], "dtick": 1, "tickformat": ".0e"}
    else:
        y_axis["scaleanchor"] = "x"
    return figure(
        traces,
        f"ROC of the distance: area {roc.area:.4f}",
        f"{measured.about}; {_pairs_text(roc)}",
        theme,
        xaxis=x_axis,
        yaxis=y_axis,
        showlegend=bool(beside),
    )


def _roc_curve(roc: curves.Roc, log_x: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x, y and distance of what is drawn; on a logarithmic axis from the first false positive on."""
    x, y, distance = roc.false_positives, roc.recall, _readable_thresholds(roc.thresholds)
    if log_x:
        x, y, distance = (values[roc.false_positives > 0] for values in (x, y, distance))
    across = 1 + np.log10(x) / np.log10(roc.pairs) if log_x and len(x) and roc.pairs > 1 else x
    points = curves.outline(across, y) if len(x) else np.zeros(0, np.int64)
    return x[points], y[points], distance[points]


def _curves(
    all_measured: Sequence[Measured],
    drawn: Callable[[Any], tuple[np.ndarray, np.ndarray, np.ndarray]],
    words: Callable[[Any], str],
    hover: str,
    theme: Theme,
) -> list[go.Scatter]:
    """Return the curve that a figure is about, and those beside it: `drawn` gives x, y and distance of one."""
    traces = []
    for number, one in enumerate(all_measured):
        (x, y, distance), label = drawn(one.data), f"{one.name}: {words(one.data)}"
        if not number:
            traces.append(curve(x, y, label, theme, customdata=distance, hovertemplate=f"{hover}<extra></extra>"))
        else:
            at = f"{one.name}: %{{y:.2%}} at %{{x:.2%}}<extra></extra>"
            traces.append(curve_beside(x, y, one.name, label, theme, customdata=distance, hovertemplate=at))
    return traces


def precision_recall(embeddings: Any, labels: Any = None, *, step: int | None = None, dark: bool = False) -> go.Figure:
    """Return precision over recall of the pairs in `roc` as a figure.

    Args:
        embeddings: A run, or embeddings (n × d).
        labels: Class IDs (n), for embeddings.
        step: A step of the run; by default its end.
        dark: Use the dark theme.

    Raises:
        UserError: As `roc`.

    Examples:
        >>> precision_recall([[0.0], [1.0], [2.0], [2.5]], [0, 0, 0, 1]).layout.title.text
        'Precision over recall: average precision 0.6444'
    """
    points = images(embeddings, labels, step)
    result = curves.precision_recall(points.embeddings, points.labels)
    return draw_precision_recall(Measured(result, points.classes, points.about), dark)


def draw_precision_recall(measured: Measured, dark: bool = False, beside: Sequence[Measured] = ()) -> go.Figure:
    """Draw a measured curve, and others beside it."""
    precision, theme = measured.data, theme_of(dark)
    hover = (
        "up to distance %{customdata:.3f}:<br>%{x:.2%} of the pairs of one class are found,<br>"
        "%{y:.2%} of what is found is of one class"
    )

    def drawn(data: curves.PrecisionRecall) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        points = curves.outline(data.recall, data.precision)
        return data.recall[points], data.precision[points], _readable_thresholds(data.thresholds[points])

    def words(data: curves.PrecisionRecall) -> str:
        return f"average precision {data.average_precision:.4f}"

    return figure(
        _curves([measured, *beside], drawn, words, hover, theme),
        f"Precision over recall: {words(precision)}",
        f"{measured.about}; {_pairs_text(precision)}",
        theme,
        xaxis={"title": "recall", "range": [-0.01, 1.01]},
        yaxis={"title": "precision", "rangemode": "tozero"},
        showlegend=bool(beside),
    )


def distance_histogram(
    embeddings: Any,
    labels: Any = None,
    *,
    step: int | None = None,
    bins: int = distance_histograms.BINS,
    dark: bool = False,
) -> go.Figure:
    """Return histograms of all distances within and between classes as a figure.

    Args:
        embeddings: A run, or embeddings (n × d).
        labels: Class IDs (n), for embeddings.
        step: A step of the run; by default its end.
        bins: Maximum number of bins.
        dark: Use the dark theme.

    Examples:
        >>> [bars.name for bars in distance_histogram([[0.0], [1.0], [2.0], [2.5]], [0, 0, 0, 1]).data]
        ['pairs of two classes: 3', 'pairs of one class: 3']
    """
    points = images(embeddings, labels, step)
    histogram = distance_histograms.distance_histogram(points.embeddings, points.labels, bins)
    return draw_distance_histogram(Measured(histogram, points.classes, points.about), dark)


def draw_distance_histogram(measured: Measured, dark: bool = False, beside: Sequence[Measured] = ()) -> go.Figure:
    """Draw counted pairs as fractions of each kind, since most pairs are between classes; others beside as lines."""
    histogram, theme = measured.data, theme_of(dark)
    middles, width = (histogram.edges[1:] + histogram.edges[:-1]) / 2, float(histogram.edges[1])
    kinds = [("two classes", "different", DIFFERENT), ("one class", "same", SAME)]
    of = f"{measured.name}, " if beside else ""
    traces: list[Any] = []
    for name, kind, color in kinds:
        counts = getattr(histogram, kind)
        traces.append(
            go.Bar(
                x=middles,
                y=counts / max(int(counts.sum()), 1),
                width=width,
                name=f"{of}pairs of {name}: {int(counts.sum()):,}",
                customdata=np.stack([histogram.edges[:-1], histogram.edges[1:], counts], axis=1),
                marker={"color": color[theme], "opacity": 0.55, "line": {"width": 0}},
                hovertemplate=f"distance %{{customdata[0]:.3f}} to %{{customdata[1]:.3f}}:<br>%{{y:.2%}} of the pairs "
                f"of {name},<br>%{{customdata[2]:,.0f}} of them<extra></extra>",
            )
        )
    for other in beside:
        for name, kind, color in kinds:
            counts, edges = getattr(other.data, kind), other.data.edges
            # As a density of bars as wide as the first's, so that heights compare.
            shares = counts / max(int(counts.sum()), 1) * width / float(edges[1])
            traces.append(
                go.Scatter(
                    x=edges,
                    y=np.append(shares, 0),
                    mode="lines+markers",
                    line={"color": color[theme], "width": 1.5, "shape": "hv"},
                    marker={"color": color[theme], "size": 8, "opacity": 0},  # Plotly selects markers only
                    unselected={"marker": {"opacity": 0}},
                    name=f"{other.name}, pairs of {name}",
                    hovertemplate=f"{other.name}: %{{y:.2%}} of the pairs of {name}<extra></extra>",
                )
            )
    total = int(histogram.same.sum() + histogram.different.sum())
    return figure(
        traces,
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
