"""The arrays that a trial kept. Ready-made results hold no pictures of other people's data sets."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from dmlviz.data import Dataset, Split, load, stratified_subset
from dmlviz.errors import UserError
from dmlviz.storage.arrays import read_arrays
from dmlviz.studies.trial import TrialResult

PICTURES = "pictures.npz"  # whatever shows images of a data set
MAP = "map.npz"  # places of points
NET = "net.npz"  # the weights of a net, for the page's playground
PLAYGROUND = "playground.npz"  # what the page's playground needs, without pictures


def kept_arrays(result: TrialResult, name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a file that a trial wrote; empty where it wrote none, or it is not kept."""
    path = None if result.folder is None else result.folder / name
    return dict(read_arrays(path)) if path is not None and path.is_file() else {}


def first_arrays(results: Iterable[TrialResult], name: str) -> dict[str, np.ndarray]:
    """Return the arrays of the first result whose trial wrote such a file; empty where none did."""
    return next(filter(None, (kept_arrays(result, name) for result in results)), {})


def images_id(data: Dataset) -> str:
    """Return a hash of the test images, by which they are known again: a made data set has other ones elsewhere."""
    return hashlib.sha256(np.ascontiguousarray(data.test.images).tobytes()).hexdigest()[:16]


@lru_cache(maxsize=4)
def find_images(dataset: str, id: str) -> np.ndarray | None:
    """Return the test images of a data set (uint8 n × h × w) if they are those of `id`; None otherwise."""
    try:
        data = load(dataset)
    except UserError:
        return None
    return data.test.images if images_id(data) == id else None


def images_and_arrays(result: TrialResult, name: str) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
    """Return the test images of a result and the arrays that its trial wrote; None where either is missing."""
    images, arrays = find_images(result.trial.dataset, result.values["images"]), kept_arrays(result, name)
    return (images, arrays) if images is not None and arrays else None


def both_parts(data: Dataset, count: int) -> tuple[Split, int]:
    """Return so many test images and, behind them, as many training images; and how many are test images."""
    parts = [split.select(stratified_subset(split.labels, count)) for split in (data.test, data.train)]
    images = np.concatenate([part.images for part in parts])
    labels = np.concatenate([part.labels for part in parts])
    return Split(images, labels), len(parts[0])


def some_test_images(data: Dataset, classes: Sequence[int] | np.ndarray, count: int) -> np.ndarray:
    """Return the indices of so many test images of some classes, in random order; the same ones at every call."""
    indices = np.flatnonzero(np.isin(data.test.labels, classes))
    rows: np.ndarray = indices[np.random.default_rng(0).permutation(len(indices))[:count]]
    return rows
