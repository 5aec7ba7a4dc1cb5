"""A small picture of a map, as SVG: for a card."""

import numpy as np

from dmlviz.figures.palette import class_colors

WIDTH, HEIGHT, BORDER = 320, 200, 12
MAX_POINTS = 600


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
    shown = np.isfinite(coordinates[:, :2]).all(axis=1)
    points, classes_of = coordinates[shown][::every, :2], labels[shown][::every]
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
