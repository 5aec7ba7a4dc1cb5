"""Appearance of the curves of one figure, and the point that belongs to a click on one."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from dmlviz.figures.palette import BASELINES, PALETTE, Theme
from dmlviz.figures.style import ACCENT, MUTED


def curve(x: np.ndarray, y: np.ndarray, name: str, theme: Theme, **rest: Any) -> go.Scatter:
    """Return the curve that the figure is about; the marker of a point is seen once it is selected."""
    return go.Scatter(
        x=x,
        y=y,
        name=name,
        mode="lines+markers",
        line={"color": ACCENT[theme], "width": 2},
        marker={"color": ACCENT[theme], "size": 9, "opacity": 0},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0}},
        **rest,
    )


def curve_beside(x: np.ndarray, y: np.ndarray, name: str, label: str, theme: Theme, **rest: Any) -> go.Scatter:
    """Return a curve to compare with: a baseline is gray and dashed, another run has a color of its own.

    Args:
        x: Abscissas.
        y: Ordinates.
        name: Subject: a key of `BASELINES`, or the title of a run.
        label: Its line in the legend.
        theme: Light or dark.
        **rest: Other Plotly options.
    """
    is_baseline = name in BASELINES
    if is_baseline:  # where it meets the curve, a click means the curve
        rest = {"hoverinfo": "skip", "mode": "lines"}
    else:
        ink = {"color": PALETTE[theme][1], "size": 9, "opacity": 0}
        opacity = {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 0}}}
        rest = {"mode": "lines+markers", "marker": ink, **opacity} | rest
    line = {"color": MUTED[theme] if is_baseline else PALETTE[theme][1], "width": 1.5 if is_baseline else 2}
    return go.Scatter(x=x, y=y, name=label, line=line | {"dash": BASELINES.get(name, "solid")}, **rest)
