"""Nearest neighbors among the test images of a run."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.ops.precision import to_numbers
from dmlviz.process_setup import limit_faiss_to_one_thread
from dmlviz.runs.event_log_dir import RunNotFoundError

if TYPE_CHECKING:
    from dmlviz.ops.nearest_neighbors import Metric, NearestNeighbors
    from dmlviz.runs.run import Run


class Neighbor(NamedTuple):
    """A neighbor: index of the test image, distance, class ID."""

    item: int
    distance: float
    label: int


def neighbors(run: "Run", item: int, k: int, step: int | None = None, metric: "Metric" = "euclidean") -> list[Neighbor]:
    """Return the k nearest neighbors of a test image, nearest first, excluding the image itself.

    Args:
        run: The run.
        item: Index of the test image.
        k: Number of neighbors.
        step: Search the tracked images at this snapshot; by default all test images at the end, or the last
            snapshot while the run trains.
        metric: Distance metric.

    Raises:
        UserError: If the image is not among those searched.
    """
    search, items = searched(run, step, metric)
    row = int(np.searchsorted(items, item))
    if row == len(items) or items[row] != item:
        said = f"Image {item:,} is not among the {len(items):,} test images embedded at this step; choose another."
        raise UserError(DATASETS[run.config.dataset].said(said))
    return _to_neighbors(run, items, *search.others(k, [row]))


def neighbors_of_point(
    run: "Run", embedding: np.ndarray, k: int, step: int | None = None, metric: "Metric" = "euclidean"
) -> list[Neighbor]:
    """Return the k test images nearest to an embedding (d), nearest first.

    Args:
        run: A run with embeddings.
        embedding: d numbers.
        k: How many.
        step: The snapshot to search; the end of the training when None.
        metric: "euclidean" or "cosine".
    """
    search, items = searched(run, step, metric)
    return _to_neighbors(run, items, *search.search(to_numbers(embedding).reshape(1, -1), k))


def searched(
    run: "Run", step: int | None = None, metric: "Metric" = "euclidean"
) -> tuple["NearestNeighbors", np.ndarray]:
    """Return the search among the test images of a run, at a step as above, and their indices."""
    path, labels, indices = run.path / "embeddings.npy", run.labels, run.tracked_indices
    if step is None and not path.exists():
        step = (run.snapshot_steps or [0])[-1]
    if step is not None:
        path = run.path / "snapshots" / f"{int(step)}.npy"
    if labels is None or indices is None or not path.exists():
        raise RunNotFoundError(f"Run {run.id} has no embeddings{'' if step is None else f' at step {step:,}'}.")
    items = np.arange(len(labels)) if step is None else np.asarray(indices)
    limit_faiss_to_one_thread()
    return _index(_Gallery(path, path.stat().st_mtime_ns, step, run), metric), items


def _to_neighbors(run: "Run", items: np.ndarray, distances: np.ndarray, rows: np.ndarray) -> list[Neighbor]:
    labels = run.labels
    assert labels is not None  # `searched` has read them
    pairs = zip(distances.ravel().tolist(), rows.ravel().tolist(), strict=True)
    return [Neighbor(int(items[row]), distance, int(labels[items[row]])) for distance, row in pairs if row >= 0]


@dataclass(frozen=True)
class _Gallery:
    """Embeddings to search: a file as it was written at `stamp`, and the run that reads it."""

    path: Path
    stamp: int
    step: int | None
    run: "Run" = field(compare=False)

    def read(self) -> np.ndarray:
        embeddings = self.run.embeddings if self.step is None else self.run.snapshot(self.step)
        if embeddings is None:  # removed since the caller checked
            raise RunNotFoundError(f"Run {self.run.id} has no embeddings.")
        return embeddings


@lru_cache(maxsize=8)
def _index(gallery: _Gallery, metric: "Metric") -> "NearestNeighbors":
    from dmlviz.ops.nearest_neighbors import NearestNeighbors

    return NearestNeighbors(gallery.read(), metric)
