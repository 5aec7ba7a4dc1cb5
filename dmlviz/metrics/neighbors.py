"""The nearest neighbors among fixed points, exact: FAISS proposes them, differences of coordinates decide.

FAISS expands |a − b|² in float32, which tells nothing of distances below a thousandth of the points' norms. So what it
proposes is measured again, and where a point that it did not propose may be nearer, all points are measured.
"""

from functools import cached_property

import faiss
import numpy as np

from dmlviz.metrics.distances import SquaredDistances

_SPARE = 16  # proposals beyond those asked for: with them nearly every search of a spread-out space is certain
_BLOCK = 64  # rows of a table of all distances
_NUMBERS = 1 << 18  # of the differences that are held at once


class NearestNeighbors:
    """Finite points (n × d), searched by Euclidean distance with the precision of their type (float32 or float64)."""

    def __init__(self, points: np.ndarray) -> None:
        size = float(np.abs(points).max())
        self.unit = 2.0 ** float(np.frexp(size)[1] - 1) if size > 0 else 1.0  # a power of two: no digit is lost
        self.points = self._scaled(points)
        self.center = self.points.mean(axis=0, dtype=np.float64).astype(points.dtype)

    def __len__(self) -> int:
        return len(self.points)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k ≤ n nearest points of each query (m × d): squared distances (m × k, float64) and indices (int64).

        Nearest first, of equally near ones the earlier first.
        """
        queries = self._scaled(queries)
        found, certain = self._proposed(queries, k)
        squared, found = self._measured(queries, found, k)
        doubtful = np.flatnonzero(squared[:, -1] >= certain)
        if len(doubtful):
            asked = queries[doubtful]
            squared[doubtful], found[doubtful] = self._measured(asked, self._among_all(asked, k), k)
        return squared * self.unit**2, found

    def _scaled(self, points: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(points / points.dtype.type(self.unit))

    @cached_property
    def _index(self) -> faiss.IndexFlatL2:
        index = faiss.IndexFlatL2(self.points.shape[1])
        index.add((self.points - self.center).astype(np.float32))
        return index

    def _proposed(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices (m × more than k), and below which squared distance (m) they hold every point there is."""
        n, d = self.points.shape
        if k + _SPARE >= n:
            return np.tile(np.arange(n), (len(queries), 1)), np.full(len(queries), np.inf)
        seen = (queries - self.center).astype(np.float32)
        squared, found = self._index.search(seen, k + _SPARE)
        # A dot product is off by about √d roundings of |a||b|; points more than twice as long as the query are far.
        noise = 18 * np.sqrt(d) * float(np.finfo(np.float32).eps) * np.square(seen, dtype=np.float64).sum(axis=1)
        return found, squared[:, -1] * 0.999 - noise

    def _measured(self, queries: np.ndarray, found: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        found = np.sort(found, axis=1)  # then a stable sort puts the earlier of equally near ones first
        squared = np.empty(found.shape)
        step = max(1, _NUMBERS // (found.shape[1] * self.points.shape[1]))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            difference = self.points[found[part]]
            difference -= queries[part, None]
            squared[part] = np.einsum("nkd,nkd->nk", difference, difference)
        order = np.argsort(squared, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(squared, order, axis=1), np.take_along_axis(found, order, axis=1)

    def _among_all(self, queries: np.ndarray, k: int) -> np.ndarray:
        """Indices (m × k) from all distances, of equally near ones the earlier."""
        center = self.center.astype(np.float64)
        distances = SquaredDistances(queries - center, self.points - center, np.dtype(np.float64))
        found = np.empty((len(queries), k), np.int64)
        for start in range(0, len(queries), _BLOCK):
            rows = slice(start, start + _BLOCK)
            squared = distances.of(rows)
            limit = np.partition(squared, k - 1, axis=1)[:, k - 1 : k]
            chosen = squared < limit
            equal = squared == limit
            room = k - np.count_nonzero(chosen, axis=1)
            chosen |= equal & (np.cumsum(equal, axis=1) <= room[:, None])
            found[rows] = np.nonzero(chosen)[1].reshape(-1, k)
        return found
