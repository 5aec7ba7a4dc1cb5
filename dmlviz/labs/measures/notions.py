"""Four notions of when two digits are the same: the digit, its parity, the thickness of its lines, its slant."""

from collections.abc import Callable

import numpy as np
from scipy import ndimage

from dmlviz.data.dataset import Split

INK = 64  # gray level from which on a pixel counts as ink
GROUPS = 4  # of equal size, by thickness and by slant


def label_notions(train: Split, test: Split) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the labels of training and test images under each notion.

    Thickness and slant are cut into four groups, equally large among the training images.
    """
    return {
        "digit": (train.labels, test.labels),
        "parity": (train.labels % 2, test.labels % 2),
        "thickness": _groups(stroke_thickness, train, test),
        "slant": _groups(slant, train, test),
    }


def stroke_thickness(images: np.ndarray) -> np.ndarray:
    """Return ink over the length of its middle line, in pixels; images are uint8, n × h × w."""
    ink = images >= INK
    depth = np.stack([ndimage.distance_transform_edt(image) for image in ink])
    middle = (depth > 0) & (depth == ndimage.maximum_filter(depth, size=(1, 3, 3)))
    return np.asarray(ink.sum((1, 2)) / np.maximum(middle.sum((1, 2)), 1))


def slant(images: np.ndarray) -> np.ndarray:
    """Return how many pixels the ink moves to the right from one row to the row above; uint8, n × h × w."""
    weight = images.astype(np.float64)
    total = np.maximum(weight.sum((1, 2)), 1)
    rows, columns = np.mgrid[: images.shape[1], : images.shape[2]]
    row, column = ((weight * grid).sum((1, 2)) / total for grid in (rows, columns))
    down, right = rows - row[:, None, None], columns - column[:, None, None]
    return np.asarray(-(weight * down * right).sum((1, 2)) / np.maximum((weight * down**2).sum((1, 2)), 1e-9))


def _groups(measure: Callable[[np.ndarray], np.ndarray], train: Split, test: Split) -> tuple[np.ndarray, np.ndarray]:
    values = measure(train.images)
    cuts = np.quantile(values, np.arange(1, GROUPS) / GROUPS)
    return np.searchsorted(cuts, values), np.searchsorted(cuts, measure(test.images))
