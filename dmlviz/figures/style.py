"""Common style of all figures, light and dark: colors and fonts of the app, title with a caption."""

import textwrap
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dmlviz.figures.palette import BASELINES, PALETTE, Theme

FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", system-ui, sans-serif'
# ground, words, quiet words, lines, accent: those of app/.streamlit/config.toml; tests/figures hold them equal.
GROUND: dict[Theme, str] = {"light": "#ffffff", "dark": "#14161b"}
TEXT: dict[Theme, str] = {"light": "#1c2028", "dark": "#e4e7ec"}
MUTED: dict[Theme, str] = {"light": "#66696f", "dark": "#a6aab3"}
LINE: dict[Theme, str] = {"light": "#dfe2e8", "dark": "#2c313b"}
ACCENT: dict[Theme, str] = {"light": "#4c56c0", "dark": "#8791ea"}
# The most frequent error: strong, but readable as a background.
ERROR: dict[Theme, str] = {"light": "#f0827b", "dark": "#a8352d"}
SQUARE = {"constrain": "domain", "constraintoward": "left"}  # of an x axis, where y is as long
CAPTION_WIDTH = 90  # characters per line


def theme_of(dark: bool) -> Theme:
    """Return the name of the theme."""
    return "dark" if dark else "light"


@cache
def template(theme: Theme) -> go.layout.Template:
    """Return the Plotly template of a theme."""
    axis = {
        "gridcolor": LINE[theme],
        "linecolor": LINE[theme],
        "zerolinecolor": LINE[theme],
        "ticks": "",
        "title": {"font": {"size": 13, "color": MUTED[theme]}, "standoff": 8},
        "tickfont": {"size": 12, "color": MUTED[theme]},
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": TEXT[theme]},
            "title": {"x": 0, "xref": "container", "pad": {"l": 16}, "font": {"size": 16}},
            "paper_bgcolor": GROUND[theme],
            "plot_bgcolor": GROUND[theme],
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {"font": {"family": FONT, "size": 13}},
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
                "font": {"size": 12},
            },
            "margin": {"l": 64, "r": 24, "t": 96, "b": 84},
        }
    )


def figure(traces: list[Any], title: str, about: str, theme: Theme, **layout: Any) -> go.Figure:
    """Return a figure with a title and a caption `about` its data.

    Args:
        traces: Plotly traces.
        title: The title.
        about: The caption.
        theme: Light or dark.
        **layout: Other Plotly layout options.
    """
    lines = textwrap.wrap(about, CAPTION_WIDTH)
    caption = {"text": "<br>".join(lines), "font": {"size": 12.5, "color": MUTED[theme]}}
    # For pages that show title and caption beside the figure.
    meta = {"title": title, "about": about}
    return go.Figure(
        traces, {"template": template(theme), "title": {"text": title, "subtitle": caption}, "meta": meta} | layout
    )


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
