"""Distances between the rows of NumPy arrays, and the smallest of them, for code that loads no torch."""

from typing import Literal

import numpy as np

from dmlviz.ops.ball import curvature_of, from_shares, lengths, room


def distances(
    x: np.ndarray, measure: Literal["euclidean", "sqeuclidean", "cosine"], y: np.ndarray | None = None
) -> np.ndarray:
    """Return the distances (n × m, float32) from the rows of `x` to those of `y`, or among the rows of `x`.

    "cosine" means 1 − cosine. Points of a ball have hyperbolic distances in place of Euclidean ones.
    """
    curvature = curvature_of(x, y)
    a = np.asarray(x, np.float64)
    b = a if y is None else np.asarray(y, np.float64)
    if measure == "cosine":
        return np.asarray(1 - _l2_normalize(a) @ _l2_normalize(b).T, np.float32)
    center = a.mean(axis=0) if len(a) else 0.0  # far from the origin the squares would lose their digits
    rooms = room(a, curvature)[:, None] * room(b, curvature)
    a, b = a - center, b - center
    squared = np.maximum((a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T, 0)
    if y is None:
        np.fill_diagonal(squared, 0)
    if curvature:
        squared = from_shares(squared / rooms, curvature)
    return np.asarray(squared if measure == "sqeuclidean" else np.sqrt(squared), np.float32)


def of_equal_length(points: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return the points scaled to length 1 where all of those that they were made from have it, else as they are.

    Args:
        points: What was made of embeddings: their first dimensions, means; n × k.
        source: The embeddings, m × d.

    Examples:
        >>> of_equal_length(np.array([[3.0, 4.0]]), np.array([[0.0, 1.0]])).tolist()
        [[0.6, 0.8]]
    """
    return _l2_normalize(points) if np.allclose(np.linalg.norm(source, axis=1), 1, atol=1e-3) else points


def _l2_normalize(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30))


_ROUNDING = 2.0**-24  # of a number in single precision
_TINY = 1e-37  # below this, single precision loses digits for another reason


class RoughDistances:
    """Squared Euclidean distances from queries to a gallery, each within `error` of that of `SquaredDistances`.

    Points are used as they are; `rescale` prepares points with a large offset or scale.

    Args:
        queries: Queries (m × d), finite, with no coordinate beyond 1.
        gallery: Gallery (n × d), likewise.

    Attributes:
        error: m; a bound on the error of each query's distances, in the worst order of summation.

    Reference:
        Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1: the error of an inner product.

    Examples:
        >>> points = np.array([[0.0, 0.0], [0.3, 0.4]])
        >>> distances = RoughDistances(points, points)
        >>> distances.of(slice(0, 1)).round(5).tolist()
        [[0.0, 0.25]]
        >>> bool(distances.error.max() < 1e-5)
        True
    """

    def __init__(self, queries: np.ndarray, gallery: np.ndarray) -> None:
        self._curvature = curvature_of(queries, gallery)
        if self._curvature:
            self._rooms = room(queries, self._curvature), room(gallery, self._curvature)
            reach = lengths(queries) + lengths(gallery).max()
            queries, gallery = np.asarray(queries, np.float64), np.asarray(gallery, np.float64)
        query_norms, gallery_norms = (np.einsum("nd,nd->n", points, points) for points in (queries, gallery))
        left = np.concatenate([queries, np.ones((len(queries), 1)), query_norms[:, None]], axis=1)
        right = np.concatenate([-2 * gallery.T, gallery_norms[None], np.ones((1, len(gallery)))])
        self._left, self._right = left.astype(np.float32), np.ascontiguousarray(right, dtype=np.float32)
        # Rounding of the coordinates and of the result: as much as six more summands.
        roundings = (len(right) + 6) * _ROUNDING
        self.error: np.ndarray = 2 * roundings * (query_norms + gallery_norms.max()) + _TINY
        if self._curvature:
            self._left, self._right = left, right  # near the rim single precision is not enough
            self.error = 8 * _ROUNDING * np.square(reach) + _TINY

    def of(self, rows: slice, columns: slice = slice(None)) -> np.ndarray:
        """Return the squared distances of some queries to (a part of) the gallery, float32; they may be below 0."""
        squared: np.ndarray = self._left[rows] @ self._right[:, columns]
        if self._curvature:
            shares = squared / (self._rooms[0][rows, None] * self._rooms[1][columns])
            return from_shares(shares, self._curvature).astype(np.float32)
        return squared


def k_smallest(rows: np.ndarray, k: int, *, limit: np.ndarray | None = None) -> np.ndarray:
    """Return the columns of the k smallest values of each row, smallest first, ties by column.

    Args:
        rows: Rows (m × n), without NaN.
        k: From 1 to n.
        limit: The k-th smallest value of each row (m), where it is known.

    Returns:
        m × k, int64.

    Examples:
        >>> k_smallest(np.array([[3, 1, 2, 1]]), 3).tolist()
        [[1, 3, 2]]
    """
    if limit is None:
        limit = np.partition(rows, k - 1, axis=1)[:, k - 1]
    near = np.flatnonzero(rows <= limit[:, None])
    starts = np.searchsorted(near, np.arange(len(rows) + 1) * rows.shape[1])
    columns = np.zeros((len(rows), k), np.int64)
    tied = np.diff(starts) > 4 * k
    if tied.any():
        columns[tied] = np.argsort(rows[tied], axis=1, kind="stable")[:, :k]
        if tied.all():
            return columns
        near = near[~np.repeat(tied, np.diff(starts))]
        starts = np.searchsorted(near, np.arange(len(rows) + 1) * rows.shape[1])
    row, column = np.divmod(near, rows.shape[1])
    order = np.lexsort((column, rows[row, column], row))
    columns[~tied] = column[order][starts[:-1][~tied, None] + np.arange(k)]
    return columns
