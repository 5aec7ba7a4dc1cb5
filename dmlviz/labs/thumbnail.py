"""A small picture of a lab's main figure, as SVG: for its card. Loads no Plotly."""

import math
from collections.abc import Sequence
from html import escape

from dmlviz.figures.palette import Theme, class_colors
from dmlviz.labs.lab import FigureRow, FigureSpec

WIDTH, HEIGHT, BORDER = 320, 110, 10
NAMESPACE = "http://www.w3.org/2000/svg"


def thumbnail(spec: FigureSpec, rows: Sequence[FigureRow], dark: bool = False) -> str:
    """Return an SVG picture of a figure without words.

    Args:
        spec: Description of the drawing.
        rows: Its rows; those of other figures are left out.
        dark: Use the dark theme.
    """
    own = [row for row in rows if row.figure == spec.name and math.isfinite(row.y)]
    series = list(dict.fromkeys(row.series for row in own))
    columns = list(dict.fromkeys(row.x for row in own))
    theme: Theme = "dark" if dark else "light"
    colors = dict(zip(series, class_colors(len(series), theme), strict=True))
    if not own:
        shapes = ""
    elif spec.kind == "cells":
        shapes = _cells(own, series, columns, class_colors(1, theme)[0])
    elif spec.kind == "bar":
        shapes = _bars(own, series, columns, colors)
    else:
        shapes = _lines(spec, own, series, columns, colors)
    return (
        f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f"<title>{escape(spec.title)}</title>{shapes}</svg>"
    )


def _lines(
    spec: FigureSpec,
    rows: list[FigureRow],
    series: list[str],
    columns: list[float | str],
    colors: dict[str, str],
) -> str:
    is_category = any(isinstance(x, str) for x in columns)
    place = {x: float(i) if is_category else _scale(float(x), spec.log_x) for i, x in enumerate(columns)}
    heights = [_scale(row.y, spec.log_y) for row in rows]
    low_x, high_x, low_y, high_y = min(place.values()), max(place.values()), min(heights), max(heights)
    parts = []
    for name in series:
        points = [
            (
                _fit(place[row.x], low_x, high_x, BORDER, WIDTH - BORDER),
                _fit(_scale(row.y, spec.log_y), low_y, high_y, HEIGHT - BORDER, BORDER),
            )
            for row in rows
            if row.series == name
        ]
        if spec.kind == "line":
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline points="{path}" style="fill:none;stroke:{colors[name]};stroke-width:2.5"/>')
        if spec.kind == "points" or len(points) <= 12:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" style="fill:{colors[name]}"/>' for x, y in points]
    return "".join(parts)


def _bars(rows: list[FigureRow], series: list[str], columns: list[float | str], colors: dict[str, str]) -> str:
    low, high = min(0.0, *(row.y for row in rows)), max(0.0, *(row.y for row in rows))
    group = (WIDTH - 2 * BORDER) / len(columns)
    width = 0.8 * group / len(series)
    zero = _fit(0.0, low, high, HEIGHT - BORDER, BORDER)
    parts = []
    for row in rows:
        x = BORDER + columns.index(row.x) * group + 0.1 * group + series.index(row.series) * width
        y = _fit(row.y, low, high, HEIGHT - BORDER, BORDER)
        top, tall = min(y, zero), max(1.0, abs(y - zero))
        parts.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="{max(1.0, width - 1):.1f}" height="{tall:.1f}" '
            f'style="fill:{colors[row.series]}"/>'
        )
    return "".join(parts)


def _cells(rows: list[FigureRow], series: list[str], columns: list[float | str], color: str) -> str:
    low, high = min(row.y for row in rows), max(row.y for row in rows)
    width, height = (WIDTH - 2 * BORDER) / len(columns), (HEIGHT - 2 * BORDER) / len(series)
    parts = []
    for row in rows:
        x, y = BORDER + columns.index(row.x) * width, BORDER + series.index(row.series) * height
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width - 1:.1f}" height="{height - 1:.1f}" '
            f'style="fill:{color};opacity:{_fit(row.y, low, high, 0.08, 1):.2f}"/>'
        )
    return "".join(parts)


def _scale(value: float, log: bool) -> float:
    return math.log10(max(value, 1e-12)) if log else value


def _fit(value: float, low: float, high: float, start: float, end: float) -> float:
    """Map [low, high] to [start, end]; the middle where low equals high."""
    share = 0.5 if high <= low else (value - low) / (high - low)
    return start + share * (end - start)
