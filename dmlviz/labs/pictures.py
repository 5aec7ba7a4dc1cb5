"""Pictures of point clouds in the plane, for labs: RGBA arrays with a clear ground, for both themes."""

import numpy as np
from PIL import Image, ImageDraw

from dmlviz.figures.palette import class_colors

SIDE = 240  # pixels of a picture
OVERSAMPLING = 2  # drawn larger and reduced, which smooths the edges
GRAY = (128, 132, 140, 255)


def circle_picture(embeddings: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Draw directions on a circle: each point's place on it, a histogram of angles outside, the templates as spokes.

    Args:
        embeddings: Points (n × 2); only their directions are drawn.
        labels: Their classes (n), from 0.
        centers: A template for each class (k × 2).

    Returns:
        uint8, SIDE × SIDE × 4.
    """
    side = SIDE * OVERSAMPLING
    image = Image.new("RGBA", (side, side))
    draw = ImageDraw.Draw(image)
    middle, radius = side / 2, 0.30 * side
    draw.ellipse([middle - radius, middle - radius, middle + radius, middle + radius], outline=GRAY, width=2)
    colors = class_colors(len(centers), "light")
    bins = 180
    directions = np.arctan2(embeddings[:, 1], embeddings[:, 0])
    highest = max(1, np.histogram(directions, bins, (-np.pi, np.pi))[0].max())
    base = np.zeros(bins)
    for label, color in enumerate(colors):
        counts = np.histogram(directions[labels == label], bins, (-np.pi, np.pi))[0]
        for number in np.flatnonzero(counts):
            angle = -np.pi + (number + 0.5) * 2 * np.pi / bins
            start = radius + 4 + 0.18 * side * base[number] / highest
            end = start + 0.18 * side * counts[number] / highest
            along = np.array([np.cos(angle), -np.sin(angle)])
            draw.line([*(middle + start * along), *(middle + end * along)], fill=color, width=5)
        base += counts
    for center, color in zip(centers, colors, strict=True):
        along = np.array([center[0], -center[1]]) / max(1e-12, float(np.linalg.norm(center)))
        draw.line([middle, middle, *(middle + radius * along)], fill=color, width=4)
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.LANCZOS))


def plane_picture(embeddings: np.ndarray, labels: np.ndarray, extent: float | None = None) -> np.ndarray:
    """Draw points of the plane in the colors of their classes.

    Args:
        embeddings: Points (n × 2).
        labels: Their classes (n), from 0.
        extent: Largest coordinate that is drawn; that of the points by default.

    Returns:
        uint8, SIDE × SIDE × 4.
    """
    side = SIDE * OVERSAMPLING
    image = Image.new("RGBA", (side, side))
    draw = ImageDraw.Draw(image)
    draw.rectangle([0, 0, side - 1, side - 1], outline=GRAY, width=2)
    middle = (embeddings.max(axis=0) + embeddings.min(axis=0)) / 2 if extent is None else np.zeros(2)
    extent = extent or float(np.abs(embeddings - middle).max()) or 1.0
    places = (0.5 + 0.47 * (embeddings - middle) / extent * np.array([1, -1])) * side
    colors = class_colors(int(labels.max(initial=0)) + 1, "light")
    for (x, y), label in zip(places, labels, strict=True):
        draw.ellipse([x - 3, y - 3, x + 3, y + 3], fill=colors[int(label)])
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.LANCZOS))


def tree_picture(places: np.ndarray, lines: np.ndarray, level: np.ndarray, in_disk: bool) -> np.ndarray:
    """Draw a tree: lines from parents to children, and points, the larger the nearer to the root.

    Args:
        places: Points (n × 2).
        lines: The ways between parent and child (n − 1 × points × 2).
        level: Steps from the root (n).
        in_disk: Whether to draw them in the unit circle; else as large as they are.

    Returns:
        uint8, SIDE × SIDE × 4.
    """
    side = SIDE * OVERSAMPLING
    image = Image.new("RGBA", (side, side))
    draw = ImageDraw.Draw(image)
    extent = 1.0 if in_disk else float(np.abs(places).max()) or 1.0
    if in_disk:
        draw.ellipse([0.03 * side, 0.03 * side, 0.97 * side, 0.97 * side], outline=GRAY, width=2)
    colors = class_colors(int(level.max(initial=0)) + 1, "light")
    turn = 0.47 * np.array([1, -1]) / extent
    for line in (0.5 + turn * lines.astype(float)) * side:
        draw.line([tuple(point) for point in line.tolist()], fill=GRAY, width=2)
    for (x, y), depth in zip((0.5 + turn * places) * side, level, strict=True):
        size = 8 - 2 * int(depth)
        draw.ellipse([x - size, y - size, x + size, y + size], fill=colors[int(depth)])
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.LANCZOS))


GAP = 2  # pixels between two images
RIGHT, WRONG = (42, 157, 143), (209, 73, 91)  # of the frames


def row_of_images(images: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return images in a row, each in a frame that says whether it is right.

    Args:
        images: uint8, n × h × w, gray.
        right: Whether each one is right (n).

    Returns:
        uint8, (h + 4) × … × 3, on white.

    Examples:
        >>> row_of_images(np.zeros((2, 8, 8), np.uint8), np.array([True, False])).shape
        (12, 26, 3)
    """
    n, height, width = images.shape
    row = np.full((height + 2 * GAP, n * (width + 2 * GAP) + (n - 1) * GAP, 3), 255, np.uint8)
    for number, image in enumerate(images):
        left = number * (width + 3 * GAP)
        row[:, left : left + width + 2 * GAP] = RIGHT if right[number] else WRONG
        row[GAP:-GAP, left + GAP : left + GAP + width] = image[..., None]
    return row


COLUMNS = 3
FRAME = 2  # pixels about an image
ZOOM = 3  # screen pixels of a pixel, so that it stays sharp
ASKED = (47, 111, 235)


def picture_grid(query: np.ndarray, others: np.ndarray, right: np.ndarray, columns: int = COLUMNS) -> np.ndarray:
    """Return an image and those that belong to it, in rows, each in a frame that says whether it is right.

    Args:
        query: The first image (h × w or h × w × 3, uint8), in a blue frame.
        others: The others (n × …), best first.
        right: Whether each of these is right (n).
        columns: Images in a row.

    Returns:
        RGBA, uint8, with a clear ground.

    Examples:
        >>> picture_grid(np.zeros((8, 8), np.uint8), np.zeros((3, 8, 8), np.uint8), np.array([1, 0, 1]) > 0).shape
        (78, 120, 4)
    """
    images = [query, *others]
    frames = [ASKED, *(RIGHT if hit else WRONG for hit in right)]
    height, width = (side + 2 * FRAME + GAP for side in query.shape[:2])
    rows = -(-len(images) // columns)
    grid = np.zeros((rows * height, columns * width, 4), np.uint8)
    for number, (image, frame) in enumerate(zip(images, frames, strict=True)):
        row, column = divmod(number, columns)
        tile = grid[row * height : (row + 1) * height - GAP, column * width : (column + 1) * width - GAP]
        tile[..., :3], tile[..., 3] = frame, 255
        tile[FRAME:-FRAME, FRAME:-FRAME, :3] = image if image.ndim == 3 else image[..., None]
    canvas: np.ndarray = grid[: rows * height - GAP, : columns * width - GAP].repeat(ZOOM, axis=0).repeat(ZOOM, axis=1)
    return canvas
