"""The test images behind the figures of a lab: kept as numbers of images, shown where the same data set is on disk."""

import hashlib
from functools import lru_cache

import numpy as np

from dmlviz.data import Dataset, load
from dmlviz.errors import UserError


def images_id(data: Dataset) -> str:
    """Return a hash of the test images, by which they are known again: a made data set has other ones elsewhere."""
    return hashlib.sha256(np.ascontiguousarray(data.test.images).tobytes()).hexdigest()[:16]


@lru_cache(maxsize=4)
def find_images(dataset: str, wanted: str) -> np.ndarray | None:
    """Return the test images of a data set (uint8 n × h × w) if they are those of `wanted`; None otherwise."""
    try:
        data = load(dataset)
    except UserError:
        return None
    return data.test.images if images_id(data) == wanted else None
