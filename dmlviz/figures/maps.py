"""Where the images lie, colored by class."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from dmlviz.errors import UserError
from dmlviz.figures.data import class_name, images
from dmlviz.figures.palette import class_colors
from dmlviz.figures.style import figure, theme_of
from dmlviz.projection.declared import PROJECTIONS
from dmlviz.record import Run

FEW = 2000  # points, up to which no WebGL is needed


def map(
    coordinates: Any, labels: Any = None, *, step: int | None = None, items: Any = None, dark: bool = False
) -> go.Figure:
    """A map: of a run the view that its replay plays, or coordinates (n × 2 or 3) with class ids (n).

    Of a run at the end, or after `step` batches. `items` are the numbers that points go by, 0 to n − 1 when left out.
    Raises UserError where a run has no embeddings of that step, and before its end, when its view is chosen.
    """
    found = images(coordinates, labels, step)
    if not isinstance(coordinates, Run):
        return draw_map(np.asarray(coordinates), found.labels, items, (), "Map", found.about, dark)
    run = coordinates
    if run.basis is None:
        raise UserError(f"{run.title} has no map yet: its view is chosen at its end; wait for it, or give coordinates.")
    places, title = run.basis.project(np.asarray(found.embeddings)), PROJECTIONS[run.basis.view].title
    items = found.items if items is None else items
    return draw_map(places, found.labels, items, found.classes, title, found.about, dark)


def draw_map(
    places: np.ndarray,
    labels: np.ndarray,
    items: Any,
    classes: tuple[str, ...],
    title: str,
    about: str,
    dark: bool = False,
) -> go.Figure:
    """The figure of places (n × 2 or 3), a trace for each class."""
    if places.ndim != 2 or places.shape[1] not in (2, 3) or len(places) != len(labels):
        raise UserError(f"A map has two or three coordinates a point; got shape {places.shape}: project them first.")
    theme, ids = theme_of(dark), np.unique(labels)
    items = np.arange(len(places)) if items is None else np.asarray(items)
    colors = class_colors(max(len(classes), int(ids.max(initial=0)) + 1), theme)
    kind = go.Scatter3d if places.shape[1] == 3 else go.Scatter if len(places) <= FEW else go.Scattergl
    size = 2.5 if kind is go.Scatter3d else 6 if len(places) <= FEW else 4
    traces = []
    for label in ids:
        of_class, name = labels == label, class_name(classes, int(label))
        axes = dict(zip("xyz", places[of_class].T.astype(np.float32), strict=False))
        traces.append(
            kind(
                **axes,
                mode="markers",
                name=name,
                marker={"color": colors[int(label)], "size": size, "opacity": 0.8},
                customdata=items[of_class],
                hovertemplate=f"image %{{customdata}}, class {name}<extra></extra>",
            )
        )
    bare = {"visible": False}
    flat = {"xaxis": bare, "yaxis": bare | {"scaleanchor": "x"}}
    deep = {"scene": {"xaxis": bare, "yaxis": bare, "zaxis": bare, "aspectmode": "data"}}
    layout = deep if places.shape[1] == 3 else flat
    return figure(traces, title, about, theme, legend={"itemsizing": "constant"}, **layout)
