"""Exact k-NN: FAISS proposes candidates, which are re-ranked by exact distances.

FAISS expands |a − b|² in float32, which loses distances below a thousandth of the points' norms. So its candidates are
measured again from differences of coordinates; where a point outside the candidates may be nearer, all are measured.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import faiss
import numpy as np

from dmlviz.errors import UserError
from dmlviz.ops import all_neighbors
from dmlviz.ops.ball import curvature_of, from_shares, room
from dmlviz.ops.pairwise_numpy import k_smallest
from dmlviz.ops.precision import to_numbers
from dmlviz.ops.squared_distances import SquaredDistances

if TYPE_CHECKING:
    from scipy.spatial import KDTree

Metric = Literal["euclidean", "cosine"]

_EXTRA_CANDIDATES = 16  # beyond k; nearly every search of a spread-out space then needs no second pass
_BLOCK_ROWS = 64  # of a table of all distances
_MAX_TREE_DIMENSIONS = 3  # of points among which a tree finds neighbors sooner than comparing all does
_MIN_TREE_POINTS = 2_000  # below, loading SciPy would take longer than it saves
_MAX_DIFFERENCES = 1 << 18  # numbers in memory at a time


class EuclideanSearch:
    """Exact Euclidean k-NN among finite points (n × d), in the precision of their type (float32 or float64).

    Points of a ball have their hyperbolic distances, and all are compared.

    Examples:
        >>> points = EuclideanSearch(np.array([[0.0], [1.0], [5.0]]))
        >>> squared, indices = points.search(np.array([[4.0]]), k=2)
        >>> squared.tolist(), indices.tolist()
        ([[1.0, 9.0]], [[2, 1]])
    """

    def __init__(self, points: np.ndarray) -> None:
        self.curvature = curvature_of(points)
        size = 0.0 if self.curvature else float(np.abs(points).max())
        self.unit = 2.0 ** float(np.frexp(size)[1] - 1) if size > 0 else 1.0  # a power of two, so division is exact
        self.points = self._scaled(points)
        self.center = self.points.mean(axis=0, dtype=np.float64).astype(points.dtype)

    def __len__(self) -> int:
        return len(self.points)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest points of each query.

        Args:
            queries: m × d, finite.
            k: Number of neighbors, at most n.

        Returns:
            Squared distances (m × k, float64) and indices (m × k, int64), nearest first, ties by index.
        """
        return self._search(self._scaled(queries), k)

    def others(
        self, k: int, rows: np.ndarray | None = None, go_on: Callable[[], None] = lambda: None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest other points of each point.

        Args:
            k: Number of neighbors, below n.
            rows: Indices of the points to search for (m); all by default.
            go_on: Called about every second; may raise to cancel.

        Returns:
            Squared distances (m × k, of the points' type) and indices (m × k, int32), nearest first, ties by index.
            A point is never its own neighbor, but its duplicates are.
        """
        among = self._candidates_of_all(k, go_on) if rows is None else None
        rows = np.arange(len(self)) if rows is None else rows
        squared, indices = np.empty((len(rows), k), self.points.dtype), np.empty((len(rows), k), np.int32)
        block = max(64, int(4e9 / (len(self) * (self.points.shape[1] + 16))))
        for start in range(0, len(rows), block):
            go_on()
            part = slice(start, start + block)
            candidates = None if among is None else (among[0][part], among[1][part])
            near, neighbors = self._search(self.points[rows[part]], k + 1, candidates)
            is_self = neighbors == rows[part, None]
            is_self[~is_self.any(axis=1), -1] = True  # among more than k duplicates the point itself may be missing
            shape = len(near), k
            squared[part], indices[part] = near[~is_self].reshape(shape), neighbors[~is_self].reshape(shape)
        return squared, indices

    def ranked(self, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of every point (n × k, none the point itself), nearest first, and as `others` does.

        Where one is -1, the row has all of the point's nearest instead.
        """
        k = candidates.shape[1]
        squared, indices = self._rerank(self.points, candidates, k)
        squared, indices = (squared * self.unit**2).astype(self.points.dtype), indices.astype(np.int32)
        rows = np.flatnonzero((candidates < 0).any(axis=1))
        if len(rows):
            squared[rows], indices[rows] = self.others(k, rows)
        return squared, indices

    def centered(self, points: np.ndarray) -> np.ndarray:
        """Return points (m × d) as they are compared at first: scaled, from the center of all points, in float32."""
        centered: np.ndarray = (self._scaled(points) - self.center).astype(np.float32)
        return centered

    def _search(
        self, queries: np.ndarray, k: int, among: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.curvature:
            return self._in_ball(queries, k)
        candidates, bound = self._candidates(queries, k) if among is None else among
        squared, indices = self._rerank(queries, candidates, k)
        uncertain = np.flatnonzero(squared[:, -1] >= bound)
        if len(uncertain):
            rest = queries[uncertain]
            squared[uncertain], indices[uncertain] = self._rerank(rest, self._among_all(rest, k), k)
        return squared * self.unit**2, indices

    def _in_ball(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        rooms = room(queries, self.curvature), room(self.points, self.curvature)
        distances = SquaredDistances(queries, self.points, np.dtype(np.float64))
        squared, indices = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        for start in range(0, len(queries), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            shares = distances.of(rows) / (rooms[0][rows, None] * rooms[1])
            indices[rows] = k_smallest(shares, k)
            squared[rows] = from_shares(np.take_along_axis(shares, indices[rows], axis=1), self.curvature)
        return squared, indices

    def _scaled(self, points: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(points / points.dtype.type(self.unit))

    @cached_property
    def _index(self) -> faiss.IndexFlatL2:
        index = faiss.IndexFlatL2(self.points.shape[1])
        index.add((self.points - self.center).astype(np.float32))
        return index

    @cached_property
    def _tree(self) -> "KDTree":
        from scipy.spatial import KDTree

        return KDTree(self.points, balanced_tree=False, compact_nodes=False)

    def _candidates(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return candidate indices (m × more than k), and the squared distance (m) below which they are complete."""
        n = len(self)
        if k + _EXTRA_CANDIDATES >= n:
            return np.tile(np.arange(n), (len(queries), 1)), np.full(len(queries), np.inf)
        if self.points.shape[1] <= _MAX_TREE_DIMENSIONS and n >= _MIN_TREE_POINTS:
            distances, indices = self._tree.query(queries, k + _EXTRA_CANDIDATES)
            return indices, np.square(distances[:, -1]) * 0.999
        centered = (queries - self.center).astype(np.float32)
        squared, indices = self._index.search(centered, k + _EXTRA_CANDIDATES)
        return indices, _surely_nearer(centered, squared[:, -1])

    def _candidates_of_all(self, k: int, go_on: Callable[[], None]) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the candidates of every point, itself among them; None where the index finds them as fast."""
        n = len(self)
        few = n < all_neighbors.FROM or k > n // 10
        if few or self.curvature or self.points.shape[1] <= _MAX_TREE_DIMENSIONS:
            return None
        centered = (self.points - self.center).astype(np.float32)
        found = all_neighbors.Regions(centered).nearest(k + _EXTRA_CANDIDATES, go_on)
        if found is None:
            return None
        indices, farthest = found
        return np.column_stack([indices, np.arange(n, dtype=np.int32)]), _surely_nearer(centered, farthest)

    def _rerank(self, queries: np.ndarray, candidates: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return exact squared distances and indices (m × k) of the k nearest candidates."""
        candidates = np.sort(candidates, axis=1)  # a stable sort by distance then breaks ties by index
        squared = np.empty(candidates.shape)
        step = max(1, _MAX_DIFFERENCES // (candidates.shape[1] * self.points.shape[1]))
        for start in range(0, len(queries), step):
            rows = slice(start, start + step)
            difference = self.points[candidates[rows]]
            difference -= queries[rows, None]
            squared[rows] = np.einsum("nkd,nkd->nk", difference, difference)
        order = np.argsort(squared, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(squared, order, axis=1), np.take_along_axis(candidates, order, axis=1)

    def _among_all(self, queries: np.ndarray, k: int) -> np.ndarray:
        """Return the indices (m × k) of the k nearest of all points."""
        center = self.center.astype(np.float64)
        distances = SquaredDistances(queries - center, self.points - center, np.dtype(np.float64))
        indices = np.empty((len(queries), k), np.int64)
        for start in range(0, len(queries), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            indices[rows] = k_smallest(distances.of(rows), k)
        return indices


def _surely_nearer(centered: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """Return the squared distance (m) below which points are candidates, whose farthest has about this one."""
    # A dot product is off by about √d roundings of |a||b|; points more than twice as long as the query are far.
    d = centered.shape[1]
    noise = 18 * np.sqrt(d) * float(np.finfo(np.float32).eps) * np.square(centered, dtype=np.float64).sum(axis=1)
    nearer: np.ndarray = squared * 0.999 - noise
    return nearer


class NearestNeighbors:
    """Exact k-NN among embeddings, by Euclidean or by cosine distance (1 − cosine).

    "euclidean" is the distance of the space: between points of a ball it is hyperbolic.

    Args:
        embeddings: Embeddings (n × d), finite; NumPy or torch.
        metric: "euclidean" or "cosine". The cosine distance of a zero vector from any other vector is 1.

    Raises:
        UserError: For a wrong shape, embeddings that are not finite, or an unknown metric.

    Examples:
        >>> neighbors = NearestNeighbors([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
        >>> distances, indices = neighbors.search([0.0, 1.0], k=2)
        >>> indices.tolist()
        [[0, 1]]
        >>> distances, indices = neighbors.others(1)
        >>> distances.tolist(), indices.tolist()
        ([[5.0], [5.0], [5.0]], [[1], [0], [1]])
    """

    def __init__(self, embeddings: Any, metric: str = "euclidean") -> None:
        if metric not in ("euclidean", "cosine"):
            raise UserError(f"Neighbors are searched by euclidean or cosine distance; got {metric!r}.")
        points = _rows(embeddings, "Embeddings to search are")
        self.metric = metric
        self._dimension = points.shape[1]
        self._euclidean = EuclideanSearch(self._prepared(points))

    def __len__(self) -> int:
        return len(self._euclidean)

    def search(self, queries: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest embeddings of each query.

        Args:
            queries: Q × d, or one vector (d).
            k: Number of neighbors; all embeddings if there are fewer.

        Returns:
            Distances (q × k, float32) and indices (q × k, int64), nearest first, ties by index.

        Raises:
            UserError: For a wrong shape, queries that are not finite, or a k below 1.
        """
        points = _rows(queries, "Queries are", single=True)
        if points.shape[1] != self._dimension:
            raise UserError(
                f"Queries lie in the space of the embeddings, of {self._dimension} dimensions; got {points.shape[1]}: "
                "embed them with the same net."
            )
        points = self._prepared(points)
        squared, indices = self._euclidean.search(points, min(_count(k), len(self)))
        if self.metric == "cosine":
            zero = points[:, -1] > 0
            squared[zero], indices[zero] = 2, np.arange(indices.shape[1])  # from other zero vectors too
        return self._distances(squared), indices

    def others(self, k: int, rows: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest other embeddings of each embedding; a duplicate is another.

        Args:
            k: Number of neighbors; all others if there are fewer.
            rows: Indices of the embeddings to search for (m); all by default.

        Returns:
            Distances (m × k, float32) and indices (m × k, int64), nearest first, ties by index.

        Raises:
            UserError: For indices that do not exist, or a k below 1.
        """
        is_part = rows is not None  # the neighbors of all are found sooner together
        rows = np.asarray(rows) if is_part else np.arange(len(self))
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not ((rows >= 0) & (rows < len(self))).all():
            raise UserError(f"The embeddings to search for are a list of 0 to {len(self) - 1}; got {str(rows)[:40]}.")
        k = min(_count(k), len(self) - 1)
        squared, indices = self._euclidean.others(k, rows if is_part else None)
        if self.metric == "cosine":
            zero = self._euclidean.points[rows, -1] > 0
            squared[zero], indices[zero] = 2, np.arange(k) + (np.arange(k) >= rows[zero, None])
        return self._distances(squared), indices.astype(np.int64)

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

    def _distances(self, squared: np.ndarray) -> np.ndarray:
        return (np.sqrt(squared) if self.metric == "euclidean" else squared / 2).astype(np.float32)


def _rows(values: Any, noun: str, single: bool = False) -> np.ndarray:
    try:
        array = to_numbers(values)
    except ValueError:
        raise UserError(f"{noun} an array of numbers, n × d; got rows of unequal length.") from None
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
