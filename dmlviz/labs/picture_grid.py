"""A query image and its results, as one picture."""

import numpy as np

COLUMNS = 3
FRAME, GAP = 2, 2  # pixels about an image, and between two
ZOOM = 3  # screen pixels of a pixel, so that it stays sharp
ASKED, RIGHT, WRONG = (47, 111, 235), (42, 157, 143), (209, 73, 91)  # colors of the frames


def picture_grid(query: np.ndarray, others: np.ndarray, right: np.ndarray, columns: int = COLUMNS) -> np.ndarray:
    """Return an image and those that belong to it, in rows, each in a frame that says whether it is right.

    Args:
        query: The first image (h × w or h × w × 3, uint8), in a blue frame.
        others: The others (n × …), best first.
        right: Whether each of these is right (n).
        columns: Images in a row.

    Returns:
        RGBA, uint8, with a clear ground.

    Example:
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
