"""The points of a film or figure as the page colors and turns them."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dmlviz.data.class_names import short_names
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.figures.data import class_name
from dmlviz.figures.palette import named_colors
from dmlviz.runs.point_values import NEIGHBORS, POINT_MEASURES, point_measures, point_values

COLORS = ("class", "error", *POINT_MEASURES)
RAMP = ("#abadb1", "#cc9b66", "#e9891f", "#b24c20", "#7a1020")  # as on the page: from what is usual to what stands out
UNKNOWN = "#dcdde0"
WRONG, MUTED = "#c81e3c", (135, 137, 143)  # as on the page
ASIDE, ABOVE = -0.6, 0.42  # radians: from where the page first sees three dimensions


@dataclass(frozen=True)
class Groups:
    """What the color of a point says: the group of each image (n), and the name and color of each group."""

    of: np.ndarray
    names: tuple[str, ...]
    colors: list[str]


def groups(export: RunExport) -> Groups:
    """Return the groups by which `export.look.color` colors the images of the map, `export.items`.

    Raises:
        UserError: For what a figure cannot be colored by.
    """
    name, labels = export.look.color, export.labels
    if name in ("class", "error"):
        count = int(labels.max(initial=0)) + 1
        names = tuple(class_name(short_names(export.classes), label) for label in range(count))
        colors = named_colors(export.classes, count, "light")
        if name == "class":
            return Groups(labels, names, colors)
        nearest = np.searchsorted(export.items, export.neighbors[1][:, 0])
        of = np.where(labels[nearest] == labels, labels, count)
        return Groups(of, (*names, "wrong neighbor"), [*map(_pale, colors), WRONG])
    if name not in COLORS:
        raise UserError(
            f"Films and figures are colored by {', '.join(COLORS)}; got {name[:40]!r}: choose one of these."
        )
    if name not in point_measures(export.run, export.projection):
        raise UserError(f"This map has no values of {name}: choose another color, or the map of the end.")
    values = np.asarray(point_values(export.run, export.projection, name), float)
    if name == "faithfulness":
        kept = np.clip(np.rint(values * NEIGHBORS), 0, NEIGHBORS)
        names = tuple(f"{low} to {low + 2} of {NEIGHBORS} neighbors kept" for low in (8, 6, 4, 2, 0))
        return Groups((4 - np.clip((kept - 1) // 2, 0, 4)).astype(int), names, [*RAMP])
    known = np.isfinite(values)
    most = 1.0 if name == "confidence" else float(np.percentile(values[known], 99)) or 1.0
    edges = np.linspace(0, most, len(RAMP) + 1)
    words = {"center": "from the class center", "forgotten": "times forgotten"}.get(name, name)
    names = tuple(f"{low:.2g} to {high:.2g} {words}" for low, high in pairwise(edges))
    of = np.clip(np.searchsorted(edges[1:-1], values), 0, len(RAMP) - 1)
    colors = [*reversed(RAMP)] if name == "confidence" else [*RAMP]
    if known.all():
        return Groups(of, names, colors)
    return Groups(np.where(known, of, len(RAMP)), (*names, f"{name} not known"), [*colors, UNKNOWN])


def _pale(color: str) -> str:
    """Return the color of a class where only errors stand out, as the page has it."""
    muted = 0.25 * np.array([*bytes.fromhex(color[1:])]) + 0.75 * np.array(MUTED)
    return "#" + bytes(np.rint(0.75 * muted + 0.25 * 255).astype(np.uint8).tolist()).hex()


def flat(places: np.ndarray, center: np.ndarray, turn: tuple[float, ...] | None, angle: float = 0.0) -> np.ndarray:
    """Return places (n × 3) as the page shows them from its eye, what is behind first, relative to the center (n × 3).

    Args:
        places: Places in space (n × 3).
        center: What they turn about.
        turn: The page's rotation, nine numbers row by row; None for that of its beginning.
        angle: A further turn about the vertical axis of the screen, in radians.
    """
    own = _about_right(ABOVE) @ _about_up(ASIDE) if turn is None else np.reshape(turn, (3, 3))
    return np.asarray((places - center) @ (_about_up(angle) @ own).T)


def _about_up(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def _about_right(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
