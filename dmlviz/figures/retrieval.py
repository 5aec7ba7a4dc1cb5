"""Retrieval figures: recall@k and the confusion matrix of nearest neighbors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dmlviz.data.class_names import short_names
from dmlviz.figures.data import Measured, confusion, drawn_name, images
from dmlviz.figures.palette import PALETTE
from dmlviz.figures.style import ACCENT, ERROR, GROUND, LINE, MUTED, SQUARE, curve, curve_beside, figure, theme_of
from dmlviz.metrics import curves

MARKED = (1, 5, 10)  # the k in the table of scores
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
MAX_NUMBERED = 15  # with more classes, cells have no room for their counts
MAX_NAMED = 30  # classes on an axis
LONGEST_TICK = 16  # letters: the names beside the cells take no room from them
MAX_CLICKABLE = 40  # with more classes, a cell is smaller than a finger or a mouse can hit


def recall_at_k(
    embeddings: Any, labels: Any = None, *, step: int | None = None, most: int = curves.MAX_RANKS, dark: bool = False
) -> go.Figure:
    """Return recall@k (CMC) for k from 1 to `most` as a figure.

    Args:
        embeddings: A run, or embeddings (n × d).
        labels: Class IDs (n), for embeddings.
        step: A step of the run; by default its end.
        most: The largest k.
        dark: Use the dark theme.

    Raises:
        UserError: As `dmlviz.metrics.curves.recall_at_k`.

    Examples:
        >>> recall_at_k([[0.0], [1.0], [1.5], [9.0]], [0, 0, 1, 1]).data[0].y
        array([0.5 , 0.75, 1.  ])
    """
    points = images(embeddings, labels, step)
    recall = curves.recall_at_k(points.embeddings, points.labels, most)
    return draw_recall_at_k(Measured(recall, points.classes, points.about), dark)


def draw_recall_at_k(measured: Measured, dark: bool = False, beside: Sequence[Measured] = ()) -> go.Figure:
    """Draw a measured curve, and others beside it."""
    recall, theme = measured.data, theme_of(dark)
    alone = f"; {recall.left_out:,} more are alone in their class" if recall.left_out else ""
    ks = [k for k in MARKED if k <= len(recall.recall)]
    ticks = [k for k in TICKS if k <= len(recall.recall)]
    line = curve(
        recall.ks,
        recall.recall,
        measured.name,
        theme,
        hovertemplate="%{y:.2%} have one of their class<br>among their %{x} nearest<extra></extra>",
    )
    dots = go.Scatter(
        x=ks,
        y=recall.recall[np.array(ks) - 1],
        mode="markers+text",
        text=[f"R@{k} {recall.recall[k - 1]:.4f}" for k in ks],
        textposition="bottom right",
        marker={"color": ACCENT[theme], "size": 8},
        unselected={"marker": {"opacity": 1}, "textfont": {"color": MUTED[theme]}},  # as before a click
        hoverinfo="skip",
        cliponaxis=False,
        showlegend=False,
    )
    others = [
        curve_beside(
            other.data.ks,
            other.data.recall,
            other.name,
            f"{other.name}: R@1 {other.data.recall[0]:.4f}",
            theme,
            hovertemplate=f"{other.name}: %{{y:.2%}} among %{{x}}<extra></extra>",
        )
        for other in beside
    ]
    return figure(
        [line, dots, *others],
        "Recall@k (CMC)",
        f"{measured.about}; {recall.queries:,} queries, each among all others{alone}",
        theme,
        xaxis={"type": "log", "title": "k, the number of the nearest", "tickvals": ticks},
        yaxis={"title": "recall@k", "tickformat": ".3~f"},
        showlegend=bool(beside),
    )


def scores_by_dimension(
    embeddings: Any, labels: Any = None, *, step: int | None = None, dark: bool = False
) -> go.Figure:
    """Draw P@1 and MAP@R of the first 1, 2, 4, … dimensions alone.

    Args:
        embeddings: A run, or embeddings (n × d).
        labels: Class IDs (n), for embeddings.
        step: A step of the run; by default its end.
        dark: Use the dark theme.

    Returns:
        The figure.

    Raises:
        UserError: As `dmlviz.metrics.evaluate`.

    Examples:
        >>> scores_by_dimension([[0.0, 9.0], [1.0, 2.0], [5.0, 9.0], [6.0, 2.0]], [0, 0, 1, 1]).data[0].y
        array([1., 0.])
    """
    points = images(embeddings, labels, step)
    scores = curves.scores_by_dimension(points.embeddings, points.labels)
    return draw_scores_by_dimension(Measured(scores, points.classes, points.about), dark)


def draw_scores_by_dimension(measured: Measured, dark: bool = False, beside: Sequence[Measured] = ()) -> go.Figure:
    """Draw the measured scores of a run, and those of others beside them."""
    theme, traces = theme_of(dark), []
    sample = f"; scored among {curves.MAX_CUT:,} of them" if measured.data.queries == curves.MAX_CUT else ""
    for number, each in enumerate([measured, *beside]):
        for title, dash in (("P@1", "solid"), ("MAP@R", "dot")):
            y = each.data.precision_at_1 if title == "P@1" else each.data.map_at_r
            label = f"{each.name}, {title}" if beside else title
            traces.append(
                go.Scatter(
                    x=each.data.dimensions,
                    y=y,
                    name=f"{label}: {y[-1]:.4f} with all {each.data.dimensions[-1]}",
                    mode="lines+markers",
                    line={"color": [ACCENT[theme], *PALETTE[theme][1:]][number], "width": 2, "dash": dash},
                    hovertemplate=f"{label} %{{y:.4f}}<br>with the first %{{x}} dimensions<extra></extra>",
                )
            )
    return figure(
        traces,
        "Scores of the first dimensions alone",
        f"{measured.about}{sample}",
        theme,
        xaxis={"type": "log", "title": "dimensions, the first ones alone", "tickvals": measured.data.dimensions},
        yaxis={"title": "score", "tickformat": ".3~f"},
    )


def confusion_matrix(embeddings: Any, labels: Any = None, *, step: int | None = None, dark: bool = False) -> go.Figure:
    """Return the confusion matrix as a figure: class of each image (row), class of its nearest neighbor (column).

    Args:
        embeddings: A run, or embeddings (n × d).
        labels: Class IDs (n), for embeddings.
        step: A step of the run; by default its end.
        dark: Use the dark theme.

    Raises:
        UserError: For a wrong shape, or embeddings that are not finite.

    Examples:
        >>> confusion_matrix([[0.0], [1.0], [1.5], [9.0]], [0, 0, 1, 1]).layout.title.text
        'Class of the nearest neighbor: 50.00% its own'
    """
    points = images(embeddings, labels, step)
    matrix = confusion(points.embeddings, points.labels)
    return draw_confusion_matrix(Measured(matrix, points.classes, points.about), dark)


def draw_confusion_matrix(measured: Measured, dark: bool = False) -> go.Figure:
    """Draw a confusion matrix; only errors are colored, by their fraction of the row."""
    names, counts = measured.data
    theme = theme_of(dark)
    titles = [drawn_name(measured.classes, name) for name in names]
    ticks = slice(None, None, -(-len(titles) // MAX_NAMED) or None)
    short = [drawn_name(short_names(measured.classes, LONGEST_TICK), name) for name in names]
    axis = {"type": "category", "showgrid": False, "tickvals": titles[ticks], "ticktext": short[ticks]}
    total, right = int(counts.sum()), int(np.trace(counts))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    own = np.eye(len(names), dtype=bool)
    numbers = {"texttemplate": "%{text}", "textfont": {"size": 12}} if len(names) <= MAX_NUMBERED else {}
    text = np.where(counts > 0, np.char.mod("%d", counts), "")
    rest = {"x": titles, "y": titles, "text": text, "xgap": 1, "ygap": 1, **numbers}
    errors = go.Heatmap(
        z=np.where(own, np.nan, shares),
        colorscale=[[0, GROUND[theme]], [1, ERROR[theme]]],
        zmin=0,
        showscale=len(names) > MAX_NUMBERED,
        colorbar={"title": {"text": "share of the row", "font": {"size": 12}}, "tickformat": ".1%", "thickness": 12},
        hovertemplate="%{y}, nearest to %{x}:<br>%{text} of them, %{z:.2%}<extra></extra>",
        **rest,
    )
    hits = go.Heatmap(
        z=np.where(own, shares, np.nan),
        colorscale=[[0, LINE[theme]], [1, LINE[theme]]],
        showscale=False,
        hovertemplate="%{y}, nearest to its own class:<br>%{text} of them, %{z:.2%}<extra></extra>",
        **rest,
    )
    traces: list[Any] = [errors, hits]
    if len(names) <= MAX_CLICKABLE:
        traces.append(_cells_to_click(titles, counts, shares))
    title = "Class of the nearest neighbor" + (f": {right / total:.2%} its own" if total else "")
    return figure(
        traces,
        title,
        measured.about,
        theme,
        xaxis={"title": "class of the nearest neighbor", **axis, **SQUARE},
        yaxis={
            "title": "class",
            "autorange": "reversed",
            "scaleanchor": "x",
            "constrain": "domain",
            **axis,
        },
        showlegend=False,
    )


def _cells_to_click(titles: list[str], counts: np.ndarray, shares: np.ndarray) -> go.Scatter:
    """Return a point without ink on each cell that is not empty: Plotly selects points, and no cells of a heat map."""
    rows, columns = np.nonzero(counts)
    return go.Scatter(
        x=[titles[column] for column in columns],
        y=[titles[row] for row in rows],
        customdata=(rows * len(titles) + columns).tolist(),
        text=[f"{counts[cell]:,} of them, {shares[cell]:.2%}" for cell in zip(rows, columns, strict=True)],
        mode="markers",
        marker={"symbol": "square", "size": max(6, 260 // len(titles)), "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        hovertemplate="%{y}, nearest to %{x}:<br>%{text}<extra></extra>",
        showlegend=False,
    )
