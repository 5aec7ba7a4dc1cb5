"""Several small images side by side as one picture."""

import numpy as np

GAP = 2  # pixels between two images
RIGHT, WRONG = (42, 157, 143), (209, 73, 91)  # of the frames


def row_of_images(images: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return images in a row, each in a frame that says whether it is right.

    Args:
        images: uint8, n × h × w, gray.
        right: Whether each one is right (n).

    Returns:
        uint8, (h + 4) × … × 3, on white.

    Example:
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
