"""Every point's nearest neighbours, exact. Loads no torch."""

from collections.abc import Callable

import numpy as np

from dmlviz.metrics.neighbors import NearestNeighbors


def prepared(embeddings: np.ndarray, metric: str, centre: np.ndarray | None = None) -> np.ndarray:
    """Centre embeddings (n × d, float32), which keeps distances exact; for "cosine" put them on the unit sphere.

    There the distance is the chord: half its square is 1 − cosine, so that neighbours and their order are the same.
    "correlation" is the cosine of rows less their means; for other metrics (see metrics.py) they stay as they are.
    `centre` is their mean when not given.
    """
    if metric == "euclidean":
        return embeddings - (centre_of(embeddings) if centre is None else centre)
    return comparable(embeddings, metric).astype(embeddings.dtype, copy=False)


def comparable(embeddings: np.ndarray, metric: str) -> np.ndarray:
    """Embeddings (n × d) whose Euclidean order is that of cosine or correlation: at length 1, in float64.

    A zero vector stays zero; for other metrics they stay as they are.
    """
    if metric not in ("cosine", "correlation"):
        return embeddings
    embeddings = embeddings.astype(np.float64)
    if metric == "correlation":
        embeddings = embeddings - embeddings.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return embeddings / np.where(norms > 0, norms, 1)


def centre_of(embeddings: np.ndarray) -> np.ndarray:
    """The mean (d, float32)."""
    return embeddings.mean(axis=0, dtype=np.float64).astype(np.float32)


def nearest(
    points: np.ndarray, count: int, go_on: Callable[[], None] = lambda: None, *, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The `count` nearest others of each point, or of the points `rows`: squared distances and indices, nearest first.

    A point is never its own neighbour, its duplicates are. `go_on` is called about every second and may raise.
    """
    asked = np.arange(len(points)) if rows is None else rows
    index = NearestNeighbors(points)
    squared, found = np.empty((len(asked), count), np.float32), np.empty((len(asked), count), np.int32)
    block = max(64, int(4e9 / (len(points) * (points.shape[1] + 16))))
    for start in range(0, len(asked), block):
        go_on()
        part = slice(start, start + block)
        far, near = index.search(points[asked[part]], count + 1)
        itself = near == asked[part, None]
        itself[~itself.any(axis=1), -1] = True  # among more than `count` duplicates it may not find itself
        squared[part], found[part] = far[~itself].reshape(-1, count), near[~itself].reshape(-1, count)
    return squared, found


def nearest_of(queries: np.ndarray, points: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `count` points nearest to each query: squared distances (q × count) and indices, nearest first."""
    squared, found = NearestNeighbors(points).search(queries, count)
    return squared.astype(np.float32), found.astype(np.int32)
