"""Nearest test image of every test image, for tooltips and for coloring errors."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.errors import UserError
from dmlviz.runs.run import Run


def nearest_neighbor_bytes(run: Run) -> bytes:
    """The nearest other test image of each: n little-endian int32 indices, then n float32 distances.

    Raises:
        UserError: Before the run's end.
    """
    if run.embeddings is None:
        raise UserError(f"{run.title} has no embeddings of all test images yet.")
    return _nearest(str(run.path), run.info["created"])


@lru_cache(maxsize=16)
def _nearest(path: str, created: str) -> bytes:
    """`created` tells a run that was trained again from the one before."""
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    run = Run(Path(path))
    embeddings = np.asarray(run.embeddings, np.float32)
    if run.labels is None or len(embeddings) < 2:
        raise UserError(f"{run.title} has no two test images with classes, so that none has a neighbor.")
    distances, items = NearestNeighbors(embeddings).others(1)
    content: bytes = items.astype("<i4").tobytes() + distances.astype("<f4").tobytes()
    return content
