"""Every point's nearest neighbours, exact, over FAISS. Loads no torch."""

from collections.abc import Callable

import faiss
import numpy as np


def prepared(embeddings: np.ndarray, metric: str, centre: np.ndarray | None = None) -> np.ndarray:
    """Centre embeddings (n × d, float32), which keeps distances exact; for "cosine" put them on the unit sphere.

    There the distance is the chord: half its square is 1 − cosine, so that neighbours and their order are the same.
    "correlation" is the cosine of rows less their means; for other metrics (see metrics.py) they stay as they are.
    `centre` is their mean when not given.
    """
    if metric == "euclidean":
        return embeddings - (centre_of(embeddings) if centre is None else centre)
    if metric not in ("cosine", "correlation"):
        return embeddings
    if metric == "correlation":
        embeddings = embeddings - embeddings.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(embeddings.astype(np.float64), axis=1, keepdims=True)
    return (embeddings / np.where(norms > 0, norms, 1)).astype(np.float32)


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
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    squared, found = np.empty((len(asked), count), np.float32), np.empty((len(asked), count), np.int32)
    block = max(64, int(4e9 / (len(points) * (points.shape[1] + 16))))
    for start in range(0, len(asked), block):
        go_on()
        part = slice(start, start + block)
        candidates = index.search(points[asked[part]], count + 1)[1]
        itself = candidates == asked[part, None]
        itself[~itself.any(axis=1), -1] = True  # among more than `count` duplicates it may not find itself
        others = candidates[~itself].reshape(-1, count)
        squared[part], found[part] = _measured(points[asked[part]], points, others)
    return squared, found


def nearest_of(queries: np.ndarray, points: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `count` points nearest to each query: squared distances (q × count) and indices, nearest first."""
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    return _measured(queries, points, index.search(queries, count)[1])


def _measured(queries: np.ndarray, points: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # FAISS expands |a − b|², which leaves nothing of a small distance; few pairs are left, so subtract.
    found = np.sort(found, axis=1).astype(np.int32)  # of equally near ones the earlier comes first
    squared = np.empty(found.shape, np.float32)
    step = max(1, 1_000_000 // (found.shape[1] * points.shape[1]))
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        difference = points[found[part]]
        difference -= queries[part, None]
        squared[part] = np.einsum("nkd,nkd->nk", difference, difference)
    order = np.argsort(squared, axis=1, kind="stable")
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(found, order, axis=1)
