"""Exact k-NN graphs, and the coordinates in which a metric becomes Euclidean. No torch."""

from collections.abc import Callable

import numpy as np

from dmlviz.ops.nearest_neighbors import NearestNeighbors


def prepare(embeddings: np.ndarray, metric: str, center: np.ndarray | None = None) -> np.ndarray:
    """Transform embeddings so that Euclidean distance ranks neighbors as `metric` does.

    "euclidean" centers them, which keeps distances exact. "cosine" normalizes them: half the squared distance is then
    1 − cosine. "correlation" is the cosine after subtracting each row's mean. Other metrics (see other_metrics.py)
    leave them unchanged.

    Args:
        embeddings: n × d, float32.
        metric: Name of the metric.
        center: Center for "euclidean" (d); the mean by default.
    """
    if metric == "euclidean":
        return np.asarray(embeddings - (mean_vector(embeddings) if center is None else center))
    return comparable(embeddings, metric).astype(embeddings.dtype, copy=False)


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
    """Return the mean (d, float32), summed in float64."""
    return np.asarray(embeddings.mean(axis=0, dtype=np.float64), np.float32)


def nearest_others(
    points: np.ndarray, count: int, go_on: Callable[[], None] = lambda: None, *, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest neighbors of points among the other points.

    Args:
        points: n × d.
        count: Number of neighbors of each; below n.
        go_on: Called about every second; may raise to cancel.
        rows: Indices of the points to search for (m); all by default.

    Returns:
        Squared distances (m × count, float32) and indices (m × count, int32), nearest first. A point is never its own
        neighbor, but its duplicates are.
    """
    if rows is None:
        rows = np.arange(len(points))
    search = NearestNeighbors(points)
    squared, indices = np.empty((len(rows), count), np.float32), np.empty((len(rows), count), np.int32)
    block = max(64, int(4e9 / (len(points) * (points.shape[1] + 16))))
    for start in range(0, len(rows), block):
        go_on()
        part = slice(start, start + block)
        block_squared, block_indices = search.search(points[rows[part]], count + 1)
        is_self = block_indices == rows[part, None]
        is_self[~is_self.any(axis=1), -1] = True  # among more than `count` duplicates the point itself may be missing
        squared[part] = block_squared[~is_self].reshape(-1, count)
        indices[part] = block_indices[~is_self].reshape(-1, count)
    return squared, indices


def query(queries: np.ndarray, points: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances and indices (q × count) of the `count` points nearest to each query, nearest first."""
    squared, indices = NearestNeighbors(points).search(queries, count)
    return squared.astype(np.float32), indices.astype(np.int32)
