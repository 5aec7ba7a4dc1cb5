"""The architecture of a net as a picture: boxes for its layers, arrows between them. Importing this loads no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from textwrap import wrap

from typing_extensions import TypedDict

WIDTH, GAP, BETWEEN, LINE, PAD = 172.0, 22.0, 14.0, 15.0, 6.0  # of boxes and their lines, in pixels
LETTERS = 27  # in a line
COLORS = ("#e4572e", "#2f9ee4", "#2f9f6b")  # of shared weights


@dataclass(frozen=True)
class Layer:
    """A layer, or several that follow each other without weights between them.

    Attributes:
        words: What it does, a line each: "5 × 5 convolution, 32", "PReLU".
        shape: Shape of what comes out, without the number of images.
        weights: Weights that it uses, those of layers before it included.
        new: Weights that no layer before it uses.
        inputs: Numbers of the layers whose outputs it takes; none for what is given to the net.
        same: Number of the first layer with some of its weights; its own where it shares none with an earlier one.
    """

    words: tuple[str, ...]
    shape: tuple[int, ...]
    weights: int
    new: int
    inputs: tuple[int, ...]
    same: int

    @property
    def sizes(self) -> str:
        """Return the shape as text."""
        return " × ".join(f"{side:,}" for side in self.shape) or "1 number"


class Box(TypedDict):
    """A box of a picture: its lines, the last one the sizes; `group` is the color of its shared weights, or 0."""

    x: float
    y: float
    height: float
    lines: list[str]
    group: int
    kind: str


class Tie(TypedDict):
    """A line between two boxes with the same weights."""

    path: str
    group: int


class Picture(TypedDict):
    """dmlviz/architectures/KIND/NAME.json: a net as boxes `box` pixels wide, and paths of SVG.

    `arrows` lead from layer to layer, `ties` join boxes with the same weights; `text` says it in words, line by line.
    """

    title: str
    width: float
    height: float
    box: float
    boxes: list[Box]
    arrows: list[str]
    ties: list[Tie]
    summary: str
    text: list[str]


@dataclass(frozen=True)
class Architecture:
    """What `dmlviz.nets.describe` finds in a net; `print` shows it as text, a notebook as a picture.

    Attributes:
        title: Name of the net.
        layers: The layers in the order in which they work, what is given to the net first.
        weights: All its weights; shared ones count once.
    """

    title: str
    layers: tuple[Layer, ...]
    weights: int

    @property
    def summary(self) -> str:
        """Return how many weights there are, and how many are shared."""
        ties = sum(layer.same != number for number, layer in enumerate(self.layers))
        unused = self.weights - sum(layer.new for layer in self.layers)
        shared = "; dashed lines join boxes with the same weights" if ties else ""
        rest = f"; {unused:,} of them are not used here" if unused else ""
        return f"{self.weights:,} weights{rest}{shared}."

    @property
    def text(self) -> list[str]:
        """Return a line of text for each layer."""
        lines = []
        for number, layer in enumerate(self.layers, 1):
            source = f" of {' and '.join(str(each + 1) for each in layer.inputs)}" if layer.inputs else ""
            same = f", the same weights as {layer.same + 1}" if layer.same != number - 1 else ""
            weights = f", {layer.weights:,} weights" if layer.weights else ""
            lines.append(f"{number}. {', '.join(layer.words)}{source}: {layer.sizes}{weights}{same}")
        return lines

    def __str__(self) -> str:
        return "\n".join([f"{self.title}: {self.summary}", *self.text])

    def picture(self) -> Picture:
        """Return the boxes and their places, one row below the other."""
        rows, columns = rows_of(self.layers), _columns(self.layers)
        lines = [_lines(layer) for layer in self.layers]
        heights = [LINE * len(each) + 2 * PAD for each in lines]
        tallest = [max(h for h, row in zip(heights, rows, strict=True) if row == each) for each in range(max(rows) + 1)]
        tops = [sum(tallest[:row]) + row * GAP for row in rows]
        xs = [1 + (column - min(columns)) * (WIDTH + BETWEEN) for column in columns]
        shared = {layer.same for number, layer in enumerate(self.layers) if layer.same != number}
        colors = sorted({columns[first] for first in shared})
        groups = {first: 1 + colors.index(columns[first]) for first in shared}
        boxes: list[Box] = [
            {
                "x": x,
                "y": top + 1,
                "height": height,
                "lines": text,
                "group": groups.get(layer.same, 0),
                "kind": "layer" if layer.weights else "step" if layer.inputs else "given",
            }
            for layer, x, top, height, text in zip(self.layers, xs, tops, heights, lines, strict=True)
        ]
        arrows = [
            _arrow(boxes[source], box, rows[number] - rows[source])
            for number, box in enumerate(boxes)
            for source in self.layers[number].inputs
        ]
        ties: list[Tie] = []
        for number, layer in enumerate(self.layers):
            if layer.same != number:
                before = max(each for each in range(number) if self.layers[each].same == layer.same)
                group = groups[layer.same]
                ties.append({"path": _tie(boxes[before], boxes[number], 8.0 * (group - 1)), "group": group})
        return {
            "title": self.title,
            "width": max(xs) + WIDTH + 1,
            "height": max(box["y"] + box["height"] for box in boxes) + 1,
            "box": WIDTH,
            "boxes": boxes,
            "arrows": arrows,
            "ties": ties,
            "summary": self.summary,
            "text": self.text,
        }

    def _repr_svg_(self) -> str:
        """Return the picture as SVG, as a notebook shows it."""
        picture = self.picture()
        parts = [f'<path d="{path}" stroke="gray"/>' for path in picture["arrows"]]
        parts += [
            f'<path d="{tie["path"]}" stroke="{COLORS[tie["group"] % 3]}" stroke-dasharray="4 3"/>'
            for tie in picture["ties"]
        ]
        for box in picture["boxes"]:
            color = COLORS[box["group"] % 3] if box["group"] else "gray"
            parts.append(
                f'<rect x="{box["x"]}" y="{box["y"]}" width="{WIDTH}" height="{box["height"]}" rx="6" stroke="{color}" '
                'fill="white"/>'
            )
            parts += [
                f'<text x="{box["x"] + WIDTH / 2}" y="{box["y"] + PAD + LINE * (line + 0.75)}">{escape(words)}</text>'
                for line, words in enumerate(box["lines"])
            ]
        size = f'width="{picture["width"]}" height="{picture["height"]}"'
        style = "<style>text { font: 11px sans-serif; text-anchor: middle; stroke: none; fill: black }</style>"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} fill="none"><title>{escape(self.title)}</title>'
            f"<desc>{escape(' '.join([self.summary, *self.text]))}</desc>{style}{''.join(parts)}</svg>"
        )


def _lines(layer: Layer) -> list[str]:
    words = [line for each in layer.words for line in wrap(each, LETTERS)]
    weights = f" · {layer.weights:,} weights" if layer.weights else ""
    return [*words, *wrap(layer.sizes + weights, LETTERS + 4)]


def rows_of(layers: Sequence[Layer]) -> list[int]:
    """Return the row of each layer: below all that it takes."""
    rows: list[int] = []
    for layer in layers:
        rows.append(1 + max((rows[source] for source in layer.inputs), default=-1))
    return rows


def _columns(layers: Sequence[Layer]) -> list[float]:
    """Return the column of each layer: below the middle of what it takes, and beside the others of its row."""
    rows = rows_of(layers)
    columns = [0.0] * len(layers)
    for row in range(max(rows) + 1):
        here = [number for number in range(len(layers)) if rows[number] == row]
        wanted = {}
        for place, number in enumerate(here):
            inputs = layers[number].inputs
            wanted[number] = sum(columns[source] for source in inputs) / len(inputs) if inputs else float(place)
        here.sort(key=wanted.__getitem__)
        if any(wanted[after] - wanted[before] < 1 for before, after in pairwise(here)):
            middle = sum(wanted.values()) / len(here)
            wanted = {number: middle + place - (len(here) - 1) / 2 for place, number in enumerate(here)}
        for number in here:
            columns[number] = wanted[number]
    return columns


def _arrow(source: Box, box: Box, rows: int) -> str:
    x, y = source["x"] + WIDTH / 2, source["y"] + source["height"]
    to_x, to_y = box["x"] + WIDTH / 2, box["y"] - 1
    head = "m-3.5 -4l3.5 4l3.5 -4"
    if rows > 1 and x == to_x:  # around the boxes between
        side = x + WIDTH / 2 + BETWEEN / 2
        return f"M{x} {y}v4H{side}V{to_y - GAP / 2}H{to_x + 6}V{to_y}{head}"
    if x == to_x:
        return f"M{x} {y}V{to_y}{head}"
    return f"M{x} {y}V{to_y - GAP / 2}H{to_x}V{to_y}{head}"


def _tie(before: Box, box: Box, lower: float) -> str:
    left, right = sorted((before, box), key=lambda each: each["x"])
    y = max(left["y"], right["y"]) + min(left["height"], right["height"]) / 2 + lower
    if left["x"] == right["x"]:
        x = left["x"] - 1
        top, bottom = sorted((before["y"] + before["height"] / 2, box["y"] + box["height"] / 2))
        return f"M{x} {top}h-5V{bottom}h5"
    return f"M{left['x'] + WIDTH} {y}H{right['x']}"
