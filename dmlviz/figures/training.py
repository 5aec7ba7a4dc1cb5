"""Training curves: loss and scores by step."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from dmlviz.figures.data import Measured
from dmlviz.figures.history import history
from dmlviz.figures.palette import PALETTE
from dmlviz.figures.style import MUTED, figure, theme_of
from dmlviz.runs.run import Run

GAP = 0.08  # between the two plots, as a fraction of the height


def training_curves(run: Run, *, dark: bool = False) -> go.Figure:
    """Return a figure of a run's loss (above) and the scores of its validation images (below) by step.

    Without validation images the scores are of the tracked test images; the names of the lines say which.

    Args:
        run: The run, finished or training; above 400 steps, means of consecutive steps are drawn.
        dark: Use the dark theme.

    Raises:
        UserError: Before the first step.

    Examples:
        >>> from dmlviz.runs import Runs
        >>> figure = training_curves(Runs().find("Digits in the plane, triplets"))
        >>> [line.name for line in figure.data][1:]
        ['P@1, validation', 'R-precision, validation', 'MAP@R, validation']
    """
    read = history(run)
    return draw_training_curves(Measured(read, (), read.about), dark)


def draw_training_curves(measured: Measured, dark: bool = False) -> go.Figure:
    """Draw a history."""
    read, theme = measured.data, theme_of(dark)
    loss = "loss" if read.every == 1 else f"loss, mean of {read.every} steps"
    lines: list[Any] = [
        go.Scatter(
            x=read.steps,
            y=read.losses,
            mode="lines",
            name=loss,
            line={"color": MUTED[theme], "width": 1.5},
            hovertemplate=f"{loss}: %{{y:.4g}}<extra></extra>",
        )
    ]
    for number, (title, values) in enumerate(read.scores.items()):
        lines.append(
            go.Scatter(
                x=read.looks,
                y=values,
                yaxis="y2",
                mode="lines+markers",
                name=title,
                line={"color": PALETTE[theme][number], "width": 2},
                marker={"size": 5},
                hovertemplate=f"{title}: %{{y:.4f}}<extra></extra>",
            )
        )
    steps = np.concatenate([read.steps, read.looks])
    drawn = figure(
        lines,
        "Training",
        measured.about,
        theme,
        hovermode="x unified",
        xaxis={"title": "step", "anchor": "y2", "range": [0, int(steps.max(initial=1))], "tickformat": ",d"},
        yaxis={"title": "loss", "domain": [0.5 + GAP / 2, 1]},
        yaxis2={"title": "score", "domain": [0, 0.5 - GAP / 2], "range": [0, 1.02]},
    )
    for step in read.falls:
        line = {"color": MUTED[theme], "width": 1, "dash": "dot"}
        drawn.add_shape(type="line", x0=step, x1=step, yref="paper", y0=0, y1=1, line=line)
    return drawn
