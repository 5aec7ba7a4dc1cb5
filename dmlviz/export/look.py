"""What a person looks at of a map: hidden classes, step, selection, as a page's address has them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from dmlviz.config.projection import unpack_items
from dmlviz.errors import UserError

KEYS = ("hide", "step", "select", "figure", "width", "scale", "color", "area", "turn")
WIDTHS = {"column": 85.0, "slide": 250.0}  # mm
SCALES = (1, 2, 4)
RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
MAX_CLASSES = 100_000


@dataclass(frozen=True)
class Look:
    """What films and figures show of a map.

    Attributes:
        hidden: Classes that are left out.
        step: The step that a figure is of; None for the last.
        selected: Images that a figure marks.
        figure: Name of the figure, of `dmlviz.catalog.export_formats.FIGURES`.
        width: Of a figure, in mm.
        scale: Of a PNG: 1 has 96 pixels an inch.
        color: What points are colored by, as the page's address names it.
        area: What is seen of the map: left, bottom, right, top, where the whole map reaches from −1 to 1; None for all.
        turn: Rotation of a map of three dimensions, nine numbers row by row; None for that of the page's beginning.
    """

    hidden: frozenset[int] = frozenset()
    step: int | None = None
    selected: frozenset[int] = frozenset()
    figure: str = "map"
    width: float = WIDTHS["column"]
    scale: int = 2
    color: str = "class"
    area: tuple[float, ...] | None = None
    turn: tuple[float, ...] | None = None

    @classmethod
    def of_address(cls, query: Mapping[str, str], dataset: str) -> Self:
        """Read `KEYS` of a page's address; hidden classes and a selection of another data set are nothing.

        Raises:
            UserError: For what no page writes.
        """
        words = {name: query.get(name, "").rpartition(".") for name in ("hide", "select")}
        hide, select = (word if named == dataset else "" for named, _, word in words.values())
        step = query.get("step", "")
        if step and not re.fullmatch("[0-9]{1,9}", step):
            raise UserError(f"A step is a whole number; got {step[:40]!r}.")
        selected = frozenset(unpack_items(select).tolist()) if select else frozenset()
        scale, width = query.get("scale", "2"), read_width(query.get("width", "column"))
        if scale not in map(str, SCALES):
            raise UserError(f"A PNG has a scale of 1, 2 or 4; got {scale[:40]!r}.")
        figure = query.get("figure", "map")
        area, turn = _numbers(query.get("area", ""), 4), _numbers(query.get("turn", ""), 9)
        if area and not (area[0] < area[2] and area[1] < area[3]):
            raise UserError(f"An area of a map is left, bottom, right, top; got {query['area'][:60]!r}.")
        color = query.get("color") or "class"
        step_of = int(step) if step else None
        return cls(read_classes(hide), step_of, selected, figure, width, int(scale), color, area, turn)


def read_width(text: str) -> float:
    """Return a width in mm, as "column", "slide" or a number; raise UserError for any other."""
    width = WIDTHS.get(text) or (float(text) if re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,3})?", text) else 0.0)
    if not 40 <= width <= 1000:
        raise UserError(f"A figure is 40 to 1,000 mm wide, a column (85) or a slide (250); got {text[:40]!r}.")
    return width


def _numbers(text: str, count: int) -> tuple[float, ...] | None:
    """Return so many numbers as in "-1,0.5"; None for no text."""
    parts = text.split(",") if text else []
    if parts and not (len(parts) == count and all(re.fullmatch(r"-?\d{1,4}(\.\d{1,6})?", part) for part in parts)):
        raise UserError(f"The view of a map is {count} numbers; got {text[:60]!r}.")
    return tuple(map(float, parts)) or None


def read_classes(ranges: str) -> frozenset[int]:
    """Return class numbers as in "0-3,7"; raise UserError for anything else."""
    found: set[int] = set()
    for part in filter(None, ranges.split(",")):
        match = RANGE.fullmatch(part)
        if match is None or int(match[2] or 0) >= MAX_CLASSES:
            raise UserError(f"Classes are numbers and ranges of numbers, as 0-3,7; got {ranges[:40]!r}.")
        found |= {*range(int(match[1]), int(match[2] or match[1]) + 1)}
    return frozenset(found)
