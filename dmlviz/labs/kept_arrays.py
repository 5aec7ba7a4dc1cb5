"""The arrays that a trial kept. Ready-made results hold no pictures of other people's data sets."""

from collections.abc import Iterable

import numpy as np

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
