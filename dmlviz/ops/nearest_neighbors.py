"""Exact k-NN: FAISS proposes candidates, which are re-ranked by exact distances.

FAISS expands |a − b|² in float32, which loses distances below a thousandth of the points' norms. So its candidates are
measured again from differences of coordinates; where a point outside the candidates may be nearer, all are measured.
"""

from functools import cached_property

import faiss
import numpy as np

from dmlviz.ops.squared_distances import SquaredDistances

_EXTRA_CANDIDATES = 16  # beyond k; nearly every search of a spread-out space then needs no second pass
_BLOCK_ROWS = 64  # of a table of all distances
_MAX_DIFFERENCES = 1 << 18  # numbers in memory at a time


class NearestNeighbors:
    """Exact Euclidean k-NN among finite points (n × d), in the precision of their type (float32 or float64).

    Example:
        >>> search = NearestNeighbors(np.array([[0.0], [1.0], [5.0]]))
        >>> squared, indices = search.search(np.array([[4.0]]), k=2)
        >>> squared.tolist(), indices.tolist()
        ([[1.0, 9.0]], [[2, 1]])
    """

    def __init__(self, points: np.ndarray) -> None:
        size = float(np.abs(points).max())
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
        queries = self._scaled(queries)
        candidates, bound = self._candidates(queries, k)
        squared, indices = self._rerank(queries, candidates, k)
        uncertain = np.flatnonzero(squared[:, -1] >= bound)
        if len(uncertain):
            rest = queries[uncertain]
            squared[uncertain], indices[uncertain] = self._rerank(rest, self._among_all(rest, k), k)
        return squared * self.unit**2, indices

    def _scaled(self, points: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(points / points.dtype.type(self.unit))

    @cached_property
    def _index(self) -> faiss.IndexFlatL2:
        index = faiss.IndexFlatL2(self.points.shape[1])
        index.add((self.points - self.center).astype(np.float32))
        return index

    def _candidates(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return candidate indices (m × more than k), and the squared distance (m) below which they are complete."""
        n, d = self.points.shape
        if k + _EXTRA_CANDIDATES >= n:
            return np.tile(np.arange(n), (len(queries), 1)), np.full(len(queries), np.inf)
        centered = (queries - self.center).astype(np.float32)
        squared, indices = self._index.search(centered, k + _EXTRA_CANDIDATES)
        # A dot product is off by about √d roundings of |a||b|; points more than twice as long as the query are far.
        noise = 18 * np.sqrt(d) * float(np.finfo(np.float32).eps) * np.square(centered, dtype=np.float64).sum(axis=1)
        return indices, squared[:, -1] * 0.999 - noise

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
        """Return the indices (m × k) of the k nearest of all points, ties by index."""
        center = self.center.astype(np.float64)
        distances = SquaredDistances(queries - center, self.points - center, np.dtype(np.float64))
        indices = np.empty((len(queries), k), np.int64)
        for start in range(0, len(queries), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            squared = distances.of(rows)
            kth = np.partition(squared, k - 1, axis=1)[:, k - 1 : k]
            selected = squared < kth
            tied = squared == kth
            num_missing = k - np.count_nonzero(selected, axis=1)
            selected |= tied & (np.cumsum(tied, axis=1) <= num_missing[:, None])
            indices[rows] = np.nonzero(selected)[1].reshape(-1, k)
        return indices
