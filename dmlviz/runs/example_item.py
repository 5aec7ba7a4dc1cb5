"""The test image that a page shows with its neighbors before a person has clicked one."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.runs.neighbor_search import searched
from dmlviz.runs.run import Run

NEIGHBORS = 10
WRONG = 2  # of them, so that there is something to ask
_SEARCHED, _AT_ONCE = 200, 40  # images; the first that fits is mostly among the first thirty


def example_item(run: Run) -> int | None:
    """Return the first tracked test image of which two of the ten nearest are of another class, but not the nearest.

    Where there is none among the first 200, the image that comes nearest to it; None before the end of the run.
    """
    if run.tracked_indices is None or run.embeddings is None:
        return None
    return _example(run.path, (run.path / "embeddings.npy").stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _example(path: Path, stamp: int) -> int | None:
    """Return the image; `stamp` is that of the embeddings."""
    run = Run(path)
    labels, indices, (search, _) = run.known_labels, run.tracked_indices, searched(run)
    assert indices is not None
    items = np.asarray(indices)[labels[indices] >= 0][:_SEARCHED]
    best: tuple[int, int] | None = None
    for start in range(0, len(items), _AT_ONCE):
        rows = items[start : start + _AT_ONCE]
        near = labels[search.others(NEIGHBORS, rows)[1]]
        wrong = (near != labels[rows, None]) & (near >= 0)
        for item, marks in zip(map(int, rows), wrong, strict=True):
            off = abs(int(marks.sum()) - WRONG)
            if marks[:1].any() or not len(marks) or (best is not None and off >= best[0]):
                continue
            best = off, item
            if not off:
                return item
    return None if best is None else best[1]
