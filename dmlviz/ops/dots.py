"""Points of the plane as pictures of a dot, and the lines of a grid among them."""

import numpy as np

SIDE = 28  # pixels
UNIT = 9.5  # pixels from 0 to 1: a dot at the edge, -1 or 1, is whole
_WIDTH = 1.2  # standard deviation of a dot in pixels
GRID = 17  # lines of the grid in each direction


def draw_dots(points: np.ndarray) -> np.ndarray:
    """Return a picture of each point (uint8, n × 28 × 28): a soft dot, whose center of mass is the point.

    Args:
        points: x to the right and y upward, from -1 to 1 (n × 2).

    Examples:
        >>> picture = draw_dots(np.array([[1.0, 0.0]]))[0]
        >>> round(float(picture.sum(0) @ (np.arange(28) - 13.5) / picture.sum() / UNIT), 3)
        1.0
    """
    pixels = np.arange(SIDE) - (SIDE - 1) / 2
    across, down = (np.exp(-((pixels - UNIT * at[:, None]) ** 2) / (2 * _WIDTH**2)) for at in (points.T * [[1], [-1]]))
    drawn: np.ndarray = np.floor(255 * down[:, :, None] * across[:, None, :] + 0.5).astype(np.uint8)
    return drawn


def places() -> np.ndarray:
    """Return what each pixel adds to x and y of the center of mass, row by row (784 × 2, float32)."""
    at = (np.arange(SIDE) - (SIDE - 1) / 2) / UNIT
    y, x = np.meshgrid(-at, at, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], 1).astype(np.float32)


def grid() -> np.ndarray:
    """Return the corners of a grid of GRID × GRID lines from -1 to 1, row by row (GRID² × 2)."""
    lines = np.linspace(-1, 1, GRID)
    return np.stack(np.meshgrid(lines, lines), -1).reshape(-1, 2)
