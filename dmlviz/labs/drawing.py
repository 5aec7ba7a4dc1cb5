"""Draws the figures of any lab from its rows, in the style of all figures; printed values get hollow marks."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from dmlviz.figures.palette import Theme, class_colors
from dmlviz.figures.style import ACCENT, GROUND, figure, theme_of
from dmlviz.labs.lab import FigureRow, FigureSpec, PrintedRow

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "cross", "triangle-down")
MAX_MARKED_PLACES = 6  # on a logarithmic axis; with more of them it marks powers of ten
MAX_LABELED_CELLS = 200  # more cells are too small for a number


def draw(spec: FigureSpec, rows: Sequence[FigureRow], dark: bool = False) -> go.Figure:
    """Draw a figure from its rows.

    Args:
        spec: Description of the drawing.
        rows: Rows of this figure; those of others are left out. Printed values (`PrintedRow`) are drawn with hollow
            marks and dashed lines.
        dark: Use the dark theme.

    Returns:
        The figure; each point's customdata is its series and its x.
    """
    theme = theme_of(dark)
    own = [row for row in rows if row.figure == spec.name]
    series: dict[str, list[FigureRow]] = {}
    for row in own:
        series.setdefault(row.series, []).append(row)
    if spec.kind == "cells":
        traces: list[Any] = [_cells(spec, series, theme), _cells_to_click(spec, series)] if series else []
    else:
        colors = class_colors(len(series), theme)
        traces = [
            _trace(spec, name, part, number, colors[number]) for number, (name, part) in enumerate(series.items())
        ]
    is_category = any(isinstance(row.x, str) for row in own)
    places = sorted({row.x for row in own if not isinstance(row.x, str)})
    plot = figure(
        traces,
        spec.title,
        spec.caption,
        theme,
        showlegend=spec.kind != "cells" and len(series) > 1,
        barmode="group",
        hovermode="closest",
        xaxis={"title": spec.x_title, **_axis(spec.log_x, is_category, places)},
        yaxis={"title": spec.y_title if spec.kind != "cells" else "", **_axis(spec.log_y, spec.kind == "cells")},
    )
    if spec.kind == "cells":
        # On two lines where that is possible: on a phone the names would leave no room for the cells.
        names = {"tickvals": list(series), "ticktext": [name.replace(", ", ",<br>") for name in series]}
        plot.update_yaxes(autorange="reversed", automargin=True, **names)
        plot.update_xaxes(range=[-0.5, len({row.x for row in own}) - 0.5])  # no room for the points beside the cells
    return plot


def _axis(log: bool, is_category: bool, places: Sequence[float] = ()) -> dict[str, Any]:
    if is_category:
        return {"type": "category", "automargin": True}
    if log and 0 < len(places) <= MAX_MARKED_PLACES:
        return {"type": "log", "tickvals": list(places), "ticktext": [f"{place:,g}" for place in places]}
    # Powers of ten only: Plotly also writes 2 to 9 where they fit, and 0.0001 as 100μ.
    return {"type": "log", "dtick": 1, "exponentformat": "power"} if log else {}


def _trace(spec: FigureSpec, name: str, rows: list[FigureRow], number: int, color: str) -> Any:
    is_printed = isinstance(rows[0], PrintedRow)
    common: dict[str, Any] = {
        "name": name,
        "x": [row.x for row in rows],
        "y": [row.y for row in rows],
        "customdata": [[row.series, row.x] for row in rows],
        "text": [_hover(row) for row in rows],
        "hovertemplate": f"<b>%{{fullData.name}}</b><br>{spec.x_title or 'x'}: %{{x}}<br>"
        f"{spec.y_title}: %{{y:.4g}}%{{text}}<extra></extra>",
    }
    if any(row.low is not None and row.high is not None for row in rows):
        common["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [0 if row.high is None else row.high - row.y for row in rows],
            "arrayminus": [0 if row.low is None else row.y - row.low for row in rows],
            "thickness": 1.5,
            "width": 4,
            "color": color,
        }
    if spec.kind == "bar":
        if "error_y" in common:  # seen on the bar, too
            common["error_y"]["color"] = "gray"
        marker = {"color": "rgba(0,0,0,0)", "line": {"color": color, "width": 2}} if is_printed else {"color": color}
        return go.Bar(**common, marker=marker, textposition="none")
    symbol = SYMBOLS[number % len(SYMBOLS)]
    return go.Scatter(
        **common,
        mode="lines+markers" if spec.kind == "line" and len(rows) > 1 else "markers",
        line={"color": color, "width": 2, "dash": "dash" if is_printed else "solid"},
        marker={"color": color, "size": 8, "symbol": f"{symbol}-open" if is_printed else symbol},
    )


def _hover(row: FigureRow) -> str:
    parts = []
    if row.low is not None and row.high is not None:
        parts.append(f"{row.low:.4g} to {row.high:.4g}")
    if row.n > 1:
        parts.append(f"n = {row.n:,}")
    if isinstance(row, PrintedRow):
        parts.append(row.source)
    return "".join(f"<br>{part}" for part in parts)


def _cells(spec: FigureSpec, series: dict[str, list[FigureRow]], theme: Theme) -> Any:
    columns = list(dict.fromkeys(row.x for rows in series.values() for row in rows))
    table = {(row.series, row.x): row for rows in series.values() for row in rows}
    cells = [[table.get((name, x)) for x in columns] for name in series]
    has_labels = len(series) * len(columns) <= MAX_LABELED_CELLS
    return go.Heatmap(
        x=[str(x) for x in columns],
        y=list(series),
        z=[[None if cell is None else cell.y for cell in line] for line in cells],
        customdata=[[["" if cell is None else _hover(cell)] for cell in line] for line in cells],
        text=[["" if cell is None else _label(spec, cell) for cell in line] for line in cells],
        texttemplate="%{text}" if has_labels else None,
        colorscale=[[0, GROUND[theme]], [1, ACCENT[theme]]],
        colorbar={"title": {"text": spec.y_title, "side": "right"}, "thickness": 12},
        hoverongaps=False,
        hovertemplate=f"<b>%{{y}}</b><br>{spec.x_title or 'x'}: %{{x}}<br>{spec.y_title}: "
        "%{z:.4g}%{customdata[0]}<extra></extra>",
    )


def _cells_to_click(spec: FigureSpec, series: dict[str, list[FigureRow]]) -> Any:
    """Return a point without ink on each cell: Plotly selects points, and no cells of a heat map."""
    rows = [row for part in series.values() for row in part]
    across = max(len(series), len({row.x for row in rows}))
    return go.Scatter(
        x=[str(row.x) for row in rows],
        y=[row.series for row in rows],
        customdata=[[row.series, str(row.x)] for row in rows],
        text=[f"{row.y:.4g}{_hover(row)}" for row in rows],
        mode="markers",
        marker={"symbol": "square", "size": max(6, 240 // across), "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        hovertemplate=f"<b>%{{y}}</b><br>{spec.x_title or 'x'}: %{{x}}<br>{spec.y_title}: %{{text}}<extra></extra>",
        showlegend=False,
    )


def _label(spec: FigureSpec, cell: FigureRow) -> str:
    """Return what stands in a cell: three digits, of a printed value four, and a star where the figure has them."""
    if isinstance(cell, PrintedRow):
        return f"{cell.y:.4g}"
    is_starred = spec.star_below is not None and cell.y < spec.star_below
    return (f"{cell.y:.3g}" if abs(cell.y) >= 0.01 else f"{cell.y:.3f}") + "*" * is_starred
