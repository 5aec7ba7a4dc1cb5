"""Draws a claim beside the level field: two bars for what is reported, outlines for what a fair comparison gives."""

import plotly.graph_objects as go

from dmlviz.figures.style import ACCENT, MUTED, figure, theme_of
from dmlviz.labs.reality_check.claims import Claim


def draw_claim(title: str, claimed: Claim, fair: Claim, dark: bool = False) -> go.Figure:
    """Draw a claim.

    Args:
        title: Title of the new loss.
        claimed: What a paper claims of it.
        fair: The same without tricks.
        dark: Use the dark theme.
    """
    theme = theme_of(dark)
    names = ["Contrastive, as it was run", f"{title}, as it is reported"]
    values = [100 * claimed.baseline, 100 * claimed.own]
    level = [100 * fair.baseline, 100 * fair.own]
    bars = go.Bar(
        x=values,
        y=names,
        orientation="h",
        width=0.5,
        marker={"color": [MUTED[theme], ACCENT[theme]]},
        text=[f"{value:.1f}" for value in values],
        textposition="inside",
        insidetextanchor="start",
        name="in the paper",
        hovertemplate="%{y}: %{x:.1f} %<extra></extra>",
        showlegend=False,
    )
    outlines = go.Bar(
        x=level,
        y=names,
        orientation="h",
        width=0.72,
        marker={"color": "rgba(0,0,0,0)", "line": {"color": [MUTED[theme], ACCENT[theme]], "width": 2}},
        name="on the level field",
        hovertemplate="on the level field: %{x:.1f} %<extra></extra>",
        showlegend=False,
    )
    about = (
        f"Filled: MAP@R of the comparison (runs: {claimed.baseline_runs} of the contrastive loss, {claimed.own_runs} "
        f"of {title}). Outlines: the level field. No interval is drawn."
    )
    return figure(
        [bars, outlines],
        "What the paper claims",
        about,
        theme,
        barmode="overlay",
        xaxis={"title": "MAP@R, %", "rangemode": "tozero"},
        yaxis={"automargin": True, "autorange": "reversed"},
    )
