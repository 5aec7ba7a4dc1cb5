"""Colors of the map, for figures drawn in Python. Imports no Plotly."""

from collections.abc import Sequence
from typing import Literal

from dmlviz.data.class_names import UNLABELED

Theme = Literal["light", "dark"]

# As in frontend/src/lib/palette.ts; tests/figures compares them.
PALETTE: dict[Theme, tuple[str, ...]] = {
    "light": tuple("#328ff7 #eb8102 #0f8361 #d82a20 #8640cb #7dc7f7 #812e28 #b379a8 #bac67a #385179".split()),
    "dark": tuple("#46b3ff #ff9e2a #36a379 #fe5949 #9f66f5 #a3dfff #b05041 #bfa2ba #dde78b #5a7399".split()),
}
# Pairs within and between classes, as in "What the loss sees".
SAME: dict[Theme, str] = {"light": "#1f8a7c", "dark": "#3ebeac"}
DIFFERENT: dict[Theme, str] = {"light": "#c93e55", "dark": "#f06e80"}
NAMELESS: dict[Theme, str] = {"light": "#aab0b8", "dark": "#5d636b"}  # what has no label
# The baselines of a net, with the dash patterns of their lines.
BASELINES = {"raw pixels": "dot", "untrained net": "dash"}


def class_colors(count: int, theme: Theme) -> list[str]:
    """Return one color per class: ten fixed ones, then hues at the golden angle in three lightnesses."""
    colors = PALETTE[theme]
    return [colors[i] if i < len(colors) else _generated_color(i, theme) for i in range(count)]


def named_colors(classes: Sequence[str], count: int, theme: Theme) -> list[str]:
    """Return one color for each of `count` classes, gray for what has no label among them."""
    colors = class_colors(max(len(classes), count), theme)
    if len(classes) > 1 and UNLABELED in classes:
        colors[classes.index(UNLABELED)] = NAMELESS[theme]
    return colors


def _generated_color(i: int, theme: Theme) -> str:
    hue = (i * 137.508) % 360
    lightness = (62 if theme == "dark" else 42) + (i % 3) * 9
    a = 0.62 * min(lightness, 100 - lightness)
    shares = [(n + hue / 30) % 12 for n in (0, 8, 4)]
    parts = [int(2.55 * (lightness - a * max(-1, min(k - 3, 9 - k, 1))) + 0.5) for k in shares]
    return "#" + "".join(f"{part:02x}" for part in parts)
