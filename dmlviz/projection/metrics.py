"""Neighbors by distances that no change of coordinates makes Euclidean: those that only the reference engine takes."""

import numpy as np
from scipy.spatial.distance import cdist

from dmlviz.projection.neighbours import nearest, nearest_of

_BLOCK = 128
_NAMES = {"manhattan": "cityblock", "chebyshev": "chebyshev", "canberra": "canberra", "braycurtis": "braycurtis"}


def euclidean_after_all(metric: str) -> bool:
    """Whether `prepared` makes this distance Euclidean."""
    return metric not in _NAMES


def near(queries: np.ndarray, points: np.ndarray, count: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """The `count` points nearest to each query: squared distances (q × count) and indices, nearest first."""
    if euclidean_after_all(metric):
        return nearest_of(queries, points, count)
    return _search(queries, points, count, metric)


def near_others(points: np.ndarray, count: int, rows: np.ndarray, metric: str) -> np.ndarray:
    """Indices of the `count` nearest others of the points `rows`, nearest first."""
    if euclidean_after_all(metric):
        return nearest(points, count, rows=rows)[1]
    return _search(points[rows], points, count, metric, itself=rows)[1]


def squared_to_all(queries: np.ndarray, points: np.ndarray, metric: str) -> np.ndarray:
    """Squared distances (q × n, float32) by one of the other metrics; where both points are zero they are 0."""
    distances = cdist(queries, points, _NAMES[metric])
    return np.square(np.nan_to_num(distances, copy=False)).astype(np.float32)


def _search(
    queries: np.ndarray, points: np.ndarray, count: int, metric: str, itself: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    squared, found = np.empty((len(queries), count), np.float32), np.empty((len(queries), count), np.int32)
    for start in range(0, len(queries), _BLOCK):
        part = slice(start, start + _BLOCK)
        far = squared_to_all(queries[part], points, metric)
        if itself is not None:
            far[np.arange(len(far)), itself[part]] = np.inf
        few = np.sort(np.argpartition(far, count - 1, axis=1)[:, :count], axis=1)  # of equally near ones the earlier
        values = np.take_along_axis(far, few, axis=1)
        order = np.argsort(values, axis=1, kind="stable")
        squared[part] = np.take_along_axis(values, order, axis=1)
        found[part] = np.take_along_axis(few, order, axis=1)
    return squared, found
