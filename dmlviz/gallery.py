"""Nearest neighbours among a fixed set of embeddings, exact. Loads no torch."""

from typing import Any, Literal

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics.neighbors import NearestNeighbors

Metric = Literal["euclidean", "cosine"]


class Gallery:
    """Embeddings (n × d) with their class ids (n), searched by Euclidean distance or by 1 − cosine.

    Raises UserError for wrong shapes and for embeddings that are not finite. By cosine a zero vector is at distance 1
    from everything.
    """

    def __init__(self, embeddings: Any, labels: Any, metric: Metric = "euclidean") -> None:
        if metric not in ("euclidean", "cosine"):
            raise UserError(f"A gallery is searched by euclidean or cosine distance; got {metric!r}.")
        points = _rows(embeddings, "A gallery's embeddings are")
        self.labels = np.asarray(labels)
        if self.labels.shape != (len(points),):
            raise UserError(
                f"A gallery has one label per embedding; got labels of shape {self.labels.shape} "
                f"for {len(points)} embeddings."
            )
        self.metric = metric
        self._dimension = points.shape[1]
        self._points = self._prepared(points)
        self._nearest = NearestNeighbors(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def search(self, queries: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest items of each query (q × d, or one of d): distances (q × k, float32) and indices (int64).

        Nearest first, of equally near ones the earlier first; all items where there are fewer than k.
        """
        points = _rows(queries, "Queries are", single=True)
        if points.shape[1] != self._dimension:
            raise UserError(
                f"Queries lie in the gallery's space of {self._dimension} dimensions; got {points.shape[1]}: "
                "embed them with the same net."
            )
        return self._search(self._prepared(points), _count(k))

    def neighbours_of(self, index: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k items nearest to item `index`: distances (k) and indices (k); without itself, with its duplicates."""
        if isinstance(index, bool) or not isinstance(index, int | np.integer) or not 0 <= index < len(self):
            raise UserError(f"Items of this gallery are 0 to {len(self) - 1}; got {index!r}.")
        distances, found = self._search(self._points[index : index + 1], _count(k) + 1)
        others = found[0] != index
        return distances[0][others][:k], found[0][others][:k]

    def neighbours_of_all(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k items nearest to each: distances (n × k) and indices (n × k), nearest first; as `neighbours_of`."""
        distances, found = self._search(self._points, _count(k) + 1)
        others = found != np.arange(len(self))[:, None]
        others[others.all(axis=1), -1] = False  # where more than k items coincide, an item need not find itself
        shape = len(self), min(k, len(self) - 1)
        return distances[others].reshape(shape), found[others].reshape(shape)

    def _prepared(self, points: np.ndarray) -> np.ndarray:
        """As they are; for the cosine on the unit sphere, where half the squared distance is 1 − cosine.

        A zero vector has an axis of its own there, and so is at distance 1 from every other.
        """
        if self.metric == "euclidean":
            return points
        largest = np.abs(points).max(axis=1, keepdims=True)
        points = points / np.where(largest > 0, largest, 1)
        norms = np.linalg.norm(points, axis=1, keepdims=True)
        return np.concatenate([points / np.where(norms > 0, norms, 1), norms == 0], axis=1)

    def _search(self, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        squared, found = self._nearest.search(points, min(k, len(self)))
        if self.metric == "euclidean":
            return np.sqrt(squared).astype(np.float32), found
        zero = points[:, -1] > 0
        squared[zero], found[zero] = 2, np.arange(found.shape[1])  # from other zero vectors too
        return (squared / 2).astype(np.float32), found


def _rows(values: Any, noun: str, single: bool = False) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    array = np.asarray(values)
    if single and array.ndim == 1:
        array = array[None]
    if array.ndim != 2 or array.shape[1] == 0 or not (single or len(array)) or array.dtype.kind not in "fiub":
        raise UserError(f"{noun} an array of numbers, n × d; got {array.dtype} of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise UserError(
            f"{noun} finite numbers; got NaN or infinity in {(~np.isfinite(array)).any(axis=1).sum()} rows."
        )
    return array.astype(np.float64)


def _count(k: int) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UserError(f"k is a whole number from 1: how many neighbours to find; got {k!r}.")
    return int(k)
