"""The ground of imported color images, if it is one color in all of them."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.image_ops import border_pixels

SAMPLE = 200  # images that are looked at
SAME = 12  # levels (0–255) by which one color may differ


@dataclass(frozen=True)
class OwnGround:
    """The color (0–255, 3) around the things that a data set shows, and the share of a side that they fill."""

    color: np.ndarray
    share: float


def own_ground(dataset: str) -> OwnGround | None:
    """Return the ground of a custom data set in color; None if its images have several, or are not on disk."""
    folder = DATASETS.folder(dataset) if custom_datasets.is_custom(dataset) else None
    return None if folder is None else _measure(str(folder.parent.parent), dataset)


@lru_cache(maxsize=8)
def _measure(root: str, dataset: str) -> OwnGround | None:
    images = custom_datasets.load_arrays(Path(root), dataset)["train_images"]
    pictures = np.asarray(images[np.linspace(0, len(images) - 1, min(SAMPLE, len(images))).astype(int)])
    if pictures.ndim != 4:
        return None
    borders = np.stack([border_pixels(image) for image in pictures]).astype(np.int16)  # n × p × 3
    color = np.median(borders, axis=(0, 1))
    even = (np.abs(borders - color).max(axis=2) <= SAME).mean(axis=1) >= 0.9
    if even.mean() < 0.9:
        return None
    things = np.abs(pictures[even].astype(np.int16) - color).max(axis=3) > SAME
    sides = [
        max(np.ptp(np.flatnonzero(thing.any(axis=axis))) + 1 for axis in (0, 1)) for thing in things if thing.any()
    ]
    return OwnGround(color, float(np.median(sides)) / pictures.shape[1]) if sides else None
