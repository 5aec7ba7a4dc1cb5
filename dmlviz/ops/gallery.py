"""Exact k-nearest-neighbor search in a labeled gallery of embeddings. NumPy and FAISS only, no torch."""

from typing import Any, Literal

import numpy as np

from dmlviz.errors import UserError
from dmlviz.ops.nearest_neighbors import NearestNeighbors

Metric = Literal["euclidean", "cosine"]


class Gallery:
    """Labeled embeddings, searched by Euclidean or by cosine distance (1 − cosine).

    Args:
        embeddings: n × d, finite; NumPy or torch.
        labels: n class ids.
        metric: "euclidean" or "cosine". The cosine distance of a zero vector from any other vector is 1.

    Raises:
        UserError: For a wrong shape, embeddings that are not finite, or an unknown metric.

    Example:
        >>> gallery = Gallery([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]], [0, 1, 1])
        >>> distances, indices = gallery.search([0.0, 1.0], k=2)
        >>> indices.tolist()
        [[0, 1]]
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
        """Return the k nearest items of each query.

        Args:
            queries: q × d, or one vector (d).
            k: Number of neighbors; all items if the gallery holds fewer.

        Returns:
            Distances (q × k, float32) and indices (q × k, int64), nearest first, ties by index.

        Raises:
            UserError: For a wrong shape, queries that are not finite, or a k below 1.
        """
        points = _rows(queries, "Queries are", single=True)
        if points.shape[1] != self._dimension:
            raise UserError(
                f"Queries lie in the gallery's space of {self._dimension} dimensions; got {points.shape[1]}: "
                "embed them with the same net."
            )
        return self._search(self._prepared(points), _count(k))

    def kneighbors(self, index: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return distances (k) and indices (k) of the k items nearest to item `index`, excluding the item itself."""
        if isinstance(index, bool) or not isinstance(index, int | np.integer) or not 0 <= index < len(self):
            raise UserError(f"Items of this gallery are 0 to {len(self) - 1}; got {index!r}.")
        distances, indices = self._search(self._points[index : index + 1], _count(k) + 1)
        others = indices[0] != index
        return distances[0][others][:k], indices[0][others][:k]

    def kneighbors_all(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return `kneighbors` of every item: distances (n × k) and indices (n × k), nearest first."""
        distances, indices = self._search(self._points, _count(k) + 1)
        others = indices != np.arange(len(self))[:, None]
        others[others.all(axis=1), -1] = False  # among more than k duplicates, an item may be missing from its own list
        shape = len(self), min(k, len(self) - 1)
        return distances[others].reshape(shape), indices[others].reshape(shape)

    def _prepared(self, points: np.ndarray) -> np.ndarray:
        """Put points on the unit sphere for the cosine: half the squared distance is then 1 − cosine.

        Zero vectors share an extra axis, so that they are at distance 1 from every other vector.
        """
        if self.metric == "euclidean":
            return points
        largest = np.abs(points).max(axis=1, keepdims=True)
        points = points / np.where(largest > 0, largest, 1)
        norms = np.linalg.norm(points, axis=1, keepdims=True)
        return np.concatenate([points / np.where(norms > 0, norms, 1), norms == 0], axis=1)

    def _search(self, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        squared, indices = self._nearest.search(points, min(k, len(self)))
        if self.metric == "euclidean":
            return np.sqrt(squared).astype(np.float32), indices
        zero = points[:, -1] > 0
        squared[zero], indices[zero] = 2, np.arange(indices.shape[1])  # from other zero vectors too
        return (squared / 2).astype(np.float32), indices


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
        raise UserError(f"k, the number of neighbors, is a whole number from 1; got {k!r}.")
    return int(k)
