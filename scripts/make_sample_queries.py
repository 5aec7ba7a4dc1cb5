"""Draw the pictures that Upload offers as samples: `python scripts/make_sample_queries.py`.

They are drawn, not taken from any data set: two digits as people photograph them, and one thing that is no digit.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

FOLDER = Path(__file__).resolve().parent.parent / "app/dmlviz_app/assets/queries"
SIDE = 240
Stroke = list[tuple[float, float]]


def curve(*points: tuple[float, float]) -> Stroke:
    """Return a smooth line through the points (in a square of side 1), as many short ones."""
    at = np.linspace(0, len(points) - 1, 60)
    coefficients = [np.polyfit(range(len(points)), axis, len(points) - 1) for axis in zip(*points, strict=True)]
    return list(zip(*(np.polyval(each, at) for each in coefficients), strict=True))


SEVEN = [
    [(0.34, 0.22), (0.70, 0.20), (0.46, 0.84)],
    [(0.36, 0.53), (0.72, 0.51)],
]  # crossed, as the digits' own are
TWO = [curve((0.30, 0.34), (0.50, 0.18), (0.68, 0.34), (0.52, 0.58), (0.28, 0.80)), [(0.28, 0.80), (0.76, 0.76)]]
HOUSE = [
    [(0.25, 0.45), (0.5, 0.2), (0.75, 0.45)],
    [(0.3, 0.42), (0.3, 0.8), (0.7, 0.8), (0.7, 0.42)],
    [(0.45, 0.8), (0.45, 0.6), (0.57, 0.6), (0.57, 0.8)],
]


def drawn(strokes: list[Stroke], ink: int, ground: int, width: int) -> Image.Image:
    """Return strokes on a ground that is darker towards a corner and a little rough, as paper in a room is."""
    picture = Image.new("L", (SIDE, SIDE), ground)
    pen = ImageDraw.Draw(picture)
    for stroke in strokes:
        points = [(x * SIDE, y * SIDE) for x, y in stroke]
        pen.line(points, fill=ink, width=width, joint="curve")
        for x, y in points:
            pen.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), fill=ink)
    pixels = np.asarray(picture.filter(ImageFilter.GaussianBlur(1.2)), np.float32)
    ramp = np.add.outer(np.linspace(0, 18, SIDE), np.linspace(0, 14, SIDE))
    rough = np.random.default_rng(0).normal(0, 2.5, pixels.shape)
    return Image.fromarray(np.clip(pixels - ramp + rough, 0, 255).astype(np.uint8))


def main() -> None:
    """Write them all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    pictures = {
        "seven": drawn(SEVEN, ink=40, ground=235, width=20),
        "two": drawn(TWO, ink=230, ground=45, width=26),
        "house": drawn(HOUSE, ink=50, ground=230, width=14),
    }
    for name, picture in pictures.items():
        picture.save(FOLDER / f"{name}.jpg", quality=80)


if __name__ == "__main__":
    main()
