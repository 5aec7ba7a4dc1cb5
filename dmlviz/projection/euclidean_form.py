"""The coordinates in which a metric becomes Euclidean, and nearest neighbors in them and by other metrics. No torch."""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from dmlviz.ops.ball import curvature_of
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.ops.neighbor_index import NeighborTable, indexed_table
from dmlviz.ops.pairwise_numpy import k_smallest
from dmlviz.ops.precision import narrowed


def prepare(embeddings: np.ndarray, metric: str, center: np.ndarray | None = None) -> np.ndarray:
    """Transform embeddings so that Euclidean distance ranks neighbors as `metric` does.

    "euclidean" centers them, which keeps distances exact. "cosine" normalizes them: half the squared distance is then
    1 − cosine. "correlation" is the cosine after subtracting each row's mean. Other metrics (see below)
    leave them unchanged. Points of a ball stay as they are for "euclidean", which means their own distance.

    Args:
        embeddings: Embeddings (n × d), float32 or float64; rounded to float32 afterwards where that holds them.
        metric: Name of the metric.
        center: Center for "euclidean" (d); the mean by default.
    """
    if metric == "euclidean" and curvature_of(embeddings):
        return embeddings
    if metric == "euclidean":
        return narrowed(embeddings - (mean_vector(embeddings) if center is None else center))
    return narrowed(comparable(embeddings, metric).astype(embeddings.dtype, copy=False))


def comparable(embeddings: np.ndarray, metric: str) -> np.ndarray:
    """Normalize embeddings (n × d) for "cosine" or "correlation", in float64; unchanged for other metrics.

    A zero vector stays zero.
    """
    if metric not in ("cosine", "correlation"):
        return embeddings
    embeddings = embeddings.astype(np.float64)
    if metric == "correlation":
        embeddings = embeddings - embeddings.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return embeddings / np.where(norms > 0, norms, 1)


def mean_vector(embeddings: np.ndarray) -> np.ndarray:
    """Return the mean (d, of the type of the embeddings), summed in float64."""
    return np.asarray(embeddings.mean(axis=0, dtype=np.float64), embeddings.dtype)


INDEXED_FROM = 15_000  # points
_WANTED_RECALL = 0.995  # of the rows that choose the regions; with less, maps of random clusters keep fewer neighbors


def nearest_others(points: np.ndarray, k: int, go_on: Callable[[], None]) -> NeighborTable:
    """Return the k nearest others of each point (n × d, finite): 99% of them or so from 15,000 points on.

    Args:
        points: Points, for which Euclidean distance is the metric: see `prepare`.
        k: Number of neighbors, below n.
        go_on: Called about every second; may raise to cancel.
    """
    if len(points) >= INDEXED_FROM and not curvature_of(points):
        return indexed_table(points, k, _WANTED_RECALL, go_on)
    squared, indices = EuclideanSearch(points).others(k, go_on=go_on)
    return NeighborTable(indices, np.sqrt(squared), 1.0, 0)


_BLOCK_ROWS = 128
_NAMES = {"manhattan": "cityblock", "chebyshev": "chebyshev", "canberra": "canberra", "braycurtis": "braycurtis"}


def euclidean_after_all(metric: str) -> bool:
    """Return whether `prepare` makes this metric Euclidean."""
    return metric not in _NAMES


def near(
    queries: np.ndarray, points: np.ndarray, count: int, metric: str, search: EuclideanSearch | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances and indices (q × count) of the nearest points of each query, nearest first.

    `search` is that of the points, if there is one already.
    """
    if euclidean_after_all(metric):
        squared, indices = (search or EuclideanSearch(points)).search(queries, count)
        return squared.astype(np.float32), indices.astype(np.int32)
    return _search(queries, points, count, metric)


def near_others(points: np.ndarray, count: int, rows: np.ndarray, metric: str) -> np.ndarray:
    """Return indices (rows × count) of the nearest other points of some points, nearest first."""
    if euclidean_after_all(metric):
        return EuclideanSearch(points).others(count, rows)[1]
    return _search(points[rows], points, count, metric, itself=rows)[1]


def squared_to_all(queries: np.ndarray, points: np.ndarray, metric: str) -> np.ndarray:
    """Return squared distances (q × n, float32) by one of these metrics; 0 between two zero vectors."""
    distances = cdist(queries, points, _NAMES[metric])
    return np.asarray(np.square(np.nan_to_num(distances, copy=False)), np.float32)


def _search(
    queries: np.ndarray, points: np.ndarray, count: int, metric: str, itself: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    squared, indices = np.empty((len(queries), count), np.float32), np.empty((len(queries), count), np.int32)
    for start in range(0, len(queries), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        block = squared_to_all(queries[part], points, metric)
        if itself is not None:
            block[np.arange(len(block)), itself[part]] = np.inf
        indices[part] = k_smallest(block, count)
        squared[part] = np.take_along_axis(block, indices[part], axis=1)
    return squared, indices
