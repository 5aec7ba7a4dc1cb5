"""The map: one point per item, colored by class."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.errors import UserError
from dmlviz.figures.data import drawn_name, images
from dmlviz.figures.palette import named_colors
from dmlviz.figures.style import figure, theme_of
from dmlviz.runs.run import Run

MAX_SVG_POINTS = 2000  # more points are drawn by WebGL


def map(
    coordinates: Any, labels: Any = None, *, step: int | None = None, items: Any = None, dark: bool = False
) -> go.Figure:
    """Return a map as a figure: a run's own view, or coordinates with class IDs.

    Args:
        coordinates: A run, or coordinates (n × 2 or 3).
        labels: Class IDs (n), for coordinates.
        step: A step of the run; by default its end.
        items: Numbers for the tooltips (n); by default 0 to n − 1.
        dark: Use the dark theme.

    Raises:
        UserError: If the run has not finished, or has no embeddings of that step.

    Examples:
        >>> [points.x for points in map([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [0, 0, 1]).data]
        [array([0., 1.], dtype=float32), array([0.], dtype=float32)]
    """
    points = images(coordinates, labels, step)
    if not isinstance(coordinates, Run):
        return draw_map(np.asarray(coordinates), points.labels, items, (), "Map", points.about, dark)
    run = coordinates
    if run.linear_projection is None:
        raise run.lacks("map")
    places, title = (
        run.linear_projection.project(np.asarray(points.embeddings)),
        PROJECTIONS[run.linear_projection.kind].title,
    )
    items = points.items if items is None else items
    return draw_map(
        places, points.labels, items, points.classes, title, points.about, dark, run.config.dataset_spec.noun
    )


def draw_map(
    places: np.ndarray,
    labels: np.ndarray,
    items: Any,
    classes: tuple[str, ...],
    title: str,
    about: str,
    dark: bool = False,
    noun: str = "row",
) -> go.Figure:
    """Return positions as a figure, one trace for each class.

    Args:
        places: Positions (n × 2 or 3).
        labels: Class IDs (n).
        items: Numbers for the tooltips (n).
        classes: Names of the classes.
        title: Title of the figure.
        about: What it shows, for the tooltips.
        dark: Use the dark theme.
        noun: What an item is called.

    Raises:
        UserError: For positions that are not finite, or of another shape.
    """
    if places.ndim == 2 and not np.isfinite(places).all():
        raise UserError("A map needs finite coordinates; got NaN or infinity: leave those rows out.")
    if places.ndim != 2 or places.shape[1] not in (2, 3) or len(places) != len(labels):
        raise UserError(
            f"A map needs coordinates of shape n × 2 or n × 3; got {places.shape}: project the embeddings first."
        )
    theme, ids = theme_of(dark), np.unique(labels)
    items = np.arange(len(places)) if items is None else np.asarray(items)
    colors = named_colors(classes, int(ids.max(initial=0)) + 1, theme)
    kind = go.Scatter3d if places.shape[1] == 3 else go.Scatter if len(places) <= MAX_SVG_POINTS else go.Scattergl
    size = 2.5 if kind is go.Scatter3d else 6 if len(places) <= MAX_SVG_POINTS else 4
    traces = []
    for label in ids:
        of_class, name = labels == label, drawn_name(classes, int(label))
        axes = dict(zip("xyz", places[of_class].T.astype(np.float32), strict=False))
        traces.append(
            kind(
                **axes,
                mode="markers",
                name=name,
                marker={"color": colors[int(label)], "size": size, "opacity": 0.8},
                customdata=items[of_class],
                hovertemplate=f"{noun} %{{customdata}}, class {name}<extra></extra>",
            )
        )
    bare = {"visible": False}
    flat = {"xaxis": bare, "yaxis": bare | {"scaleanchor": "x"}}
    deep = {"scene": {"xaxis": bare, "yaxis": bare, "zaxis": bare, "aspectmode": "data"}}
    layout = deep if places.shape[1] == 3 else flat
    return figure(traces, title, about, theme, legend={"itemsizing": "constant"}, **layout)
