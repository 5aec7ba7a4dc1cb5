"""Nearest neighbors by metrics that no transformation makes Euclidean; only the reference engine offers them."""

import numpy as np
from scipy.spatial.distance import cdist

from dmlviz.ops.k_smallest import k_smallest
from dmlviz.ops.nearest_neighbors import EuclideanSearch

_BLOCK_ROWS = 128
_NAMES = {"manhattan": "cityblock", "chebyshev": "chebyshev", "canberra": "canberra", "braycurtis": "braycurtis"}


def euclidean_after_all(metric: str) -> bool:
    """Return whether `prepare` makes this metric Euclidean."""
    return metric not in _NAMES


def near(queries: np.ndarray, points: np.ndarray, count: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances and indices (q × count) of the nearest points of each query, nearest first."""
    if euclidean_after_all(metric):
        squared, indices = EuclideanSearch(points).search(queries, count)
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
