"""A site while it is written: what a feature adds to it are pages, and cards of the first page that lead to them."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dmlviz.export.contents import LessonExport, RunExport
from dmlviz.export.page import TEMPLATES
from dmlviz.figures.palette import class_colors


def site_page(title: str, body: str, root: str = "../") -> str:
    """Return a whole page; `root` leads from it to the folder of the style sheet."""
    return TEMPLATES["site"].format(root=root, title=html.escape(title), body=body)


WIDTH, HEIGHT, BORDER = 320, 200, 12
MAX_POINTS = 600


@dataclass
class SiteBuilder:
    """A site while it is written.

    Attributes:
        folder: Its folder, which becomes the site when all is written.
        title: Title of the first page.
        lessons: The lessons that it shows.
        labs: Names of the labs that it shows.
        playground: Names of the data sets of the page that trains; none without one.
        data_root: Folder of the data sets; the default one if None.
        trained: For each run of a lesson that the playground can train, by its ID: the name of the task there.
        cards: Cards of the first page, before those of the runs.
        last_cards: Cards after them.
    """

    folder: Path
    title: str
    lessons: Sequence[LessonExport] = ()
    labs: Sequence[str] = ()
    playground: Sequence[str] = ()
    data_root: Path | None = None
    trained: Mapping[str, str] = field(default_factory=dict)
    cards: list[str] = field(default_factory=list)
    last_cards: list[str] = field(default_factory=list)

    def page(self, address: str, title: str, body: str, root: str = "../") -> None:
        """Write a page at an address without its ending; `root` leads from it to the folder of the site."""
        file = self.folder / f"{address}.html"
        file.parent.mkdir(exist_ok=True)
        file.write_text(site_page(title, body, root=root), encoding="utf-8")


def card(address: str, picture: str, title: str, text: str) -> str:
    """Return a card of the first page, which leads to the page at an address without its ending."""
    return TEMPLATES["card"].format(
        link=f"{address}.html", picture=picture, title=html.escape(title), text=html.escape(text)
    )


def map_of(export: RunExport) -> str:
    """Return the map of a run in the colors of its classes, as SVG."""
    return map_picture(export.coordinates, export.labels, len(export.classes))


def map_picture(coordinates: np.ndarray, labels: np.ndarray, classes: int) -> str:
    """Return the points of a map in the colors of their classes.

    Args:
        coordinates: Positions (n × 2 or 3); a third axis is left out.
        labels: Class IDs (n).
        classes: Number of classes.

    Returns:
        SVG of 320 × 200; of many points every second, third … is drawn.
    """
    every = -(-len(coordinates) // MAX_POINTS) or 1
    finite = np.isfinite(coordinates[:, :2]).all(axis=1)
    points, classes_of = coordinates[finite][::every, :2], labels[finite][::every]
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2), np.ones(2))
    room = np.array([WIDTH - 2 * BORDER, HEIGHT - 2 * BORDER])
    scale = float((room / np.maximum(high - low, 1e-9)).min())
    places = (points - (low + high) / 2) * scale * (1, -1) + (WIDTH / 2, HEIGHT / 2)
    colors = class_colors(classes, "light")
    # A class is one line that never leaves its points: a quarter of the bytes of a circle for each point.
    dots = "".join(
        f'<path stroke="{colors[label]}" d="{"".join(f"M{x:.1f} {y:.1f}h0" for x, y in places[classes_of == label])}"/>'
        for label in np.unique(classes_of)
    )
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Map"'
    pen = 'fill="none" stroke-width="4.4" stroke-linecap="round"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} {pen}>{dots}</svg>'
