"""The figures to move of Learn's pages, as figures.toml declares them, and what one is drawn of."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from typing_extensions import TypedDict


class Series(TypedDict):
    """Points [x, y] as a line, dots or bars; arrows are [x, y, to x, to y]."""

    name: str
    kind: Literal["line", "dots", "bars", "arrows"]
    points: list[list[float]]


class Drawn(TypedDict):
    """dmlviz/figures/NAME.json: a figure with some values of its sliders.

    `x` and `y` are the ends of the axes; `ticks` are names in place of the numbers 0, 1, … of the axis; `reading` says
    what the numbers are.
    """

    series: list[Series]
    x: list[float]
    y: list[float]
    ticks: list[str]
    formula: str
    reading: str


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """A figure.

    Attributes:
        name: Its name.
        title: Its title.
        see: The sentence that says what to see.
        x, y: What the axes are; empty for a plane.
        pages: The entries of Learn where it stands, as "loss/triplet".
        sliders: Name, label, default, low, high and step of each slider.
    """

    name: str
    title: str
    see: str
    x: str = ""
    y: str = ""
    pages: Sequence[str] = ()
    sliders: Sequence[Mapping[str, Any]] = ()


def _read() -> dict[str, FigureSpec]:
    rows = tomllib.loads(Path(__file__).with_name("figures.toml").read_text(encoding="utf-8"))
    order = ("name", "label", "default", "low", "high", "step")
    return {
        name: FigureSpec(
            name=name, **row | {"sliders": [dict(zip(order, one, strict=True)) for one in row.get("sliders", ())]}
        )
        for name, row in rows.items()
    }


FIGURES = _read()
