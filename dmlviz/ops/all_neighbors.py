"""Candidates for the nearest others of every point: matrix products between regions, and one compiled look at each."""

from collections.abc import Callable, Iterator
from types import ModuleType

import faiss
import numpy as np

from dmlviz.ops.compiled import compiled
from dmlviz.ops.squared_distances import single_threaded_blas

FROM = 10_000  # points; below, FAISS is as fast
_BLOCK_ROWS = 512
_POINTS_A_REGION = 256
_TRAINED_ON = 32  # points a region
_NEVER = float(np.finfo(np.float32).min)  # no squared distance is below

Pairs = Iterator[tuple[slice, slice]]


class Regions:
    """Points (n × d, float32, centered) in regions, each around one centroid, so that near ones are compared first.

    Later pairs of regions are then rarely near enough to be looked at closely, or at all.
    """

    def __init__(self, points: np.ndarray) -> None:
        n, d = points.shape
        means = faiss.Kmeans(d, max(1, n // _POINTS_A_REGION), niter=4, min_points_per_centroid=1)
        means.train(points[np.random.default_rng(0).permutation(n)[: means.k * _TRAINED_ON]])
        self._means, self._centroids = means, np.asarray(means.centroids, np.float64)
        self.region = means.assign(points)[1]
        self._order = np.argsort(self.region, kind="stable")
        self._points = points[self._order]
        self._blocks, self._regions = _blocks(self.region[self._order])
        distances = np.linalg.norm(self._points - self._centroids[self.region[self._order]], axis=1)
        self._radii = np.array([distances[block].max() for block in self._blocks])
        squares = np.square(self._centroids).sum(axis=1)
        self._distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * self._centroids @ self._centroids.T, 0))
        ranks = np.argsort(np.argsort(self._distances, axis=1, kind="stable"), axis=1, kind="stable")
        self.ranks = np.minimum(ranks, ranks.T)
        """Number of regions that are nearer to the one or to the other, for each pair of regions."""

    def nearest(
        self, k: int, go_on: Callable[[], None] = lambda: None, rank: int | None = None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the k nearest others of every point, up to the rounding of float32.

        Args:
            k: Number of neighbors, below n.
            go_on: Called several times a second; may raise to cancel.
            rank: Compare only pairs of regions up to this rank; by default all that can hold neighbors.

        Returns:
            Indices (n × k, int32, in any order; -1 where there are fewer), and the squared distance (n) of the
            farthest of them; None without kernels.
        """
        limits = np.full(len(self._points), np.inf, np.float32)

        def pairs() -> Pairs:
            first, second = np.triu_indices(len(self._blocks))
            ranks = self.ranks[self._regions[first], self._regions[second]]
            chosen = np.argsort(ranks, kind="stable")[: None if rank is None else np.count_nonzero(ranks <= rank)]
            first, second = first[chosen], second[chosen]
            least = self._distances[self._regions[first], self._regions[second]]
            least = np.maximum(least - self._radii[first] - self._radii[second], 0) ** 2 * 0.999
            for i, j, squared in zip(first.tolist(), second.tolist(), least.tolist(), strict=True):
                row, column = self._blocks[i], self._blocks[j]
                if squared <= max(limits[row].max(), limits[column].max()):
                    yield row, column

        return _nearest(self._points, self._points, 0, limits, k, pairs(), self._order, go_on)

    def search(self, queries: np.ndarray, k: int, rank: int) -> np.ndarray | None:
        """Return the nearest points of queries (m × d) in regions up to a rank: indices (m × k), otherwise as above."""
        m = len(queries)
        region = self._means.assign(queries)[1]
        order = np.argsort(region, kind="stable")
        blocks, regions = _blocks(region[order])
        limits = np.full(m + len(self._points), np.inf, np.float32)
        limits[m:] = _NEVER
        pairs = (
            (block, self._blocks[other])
            for block, own in zip(blocks, regions, strict=True)
            for other in np.flatnonzero(self.ranks[own][self._regions] <= rank)
        )
        found = _nearest(queries[order], self._points, m, limits, k, pairs, np.concatenate([order, self._order]))
        return None if found is None else found[0]


def _nearest(
    rows: np.ndarray,
    columns: np.ndarray,
    offset: int,
    limits: np.ndarray,
    k: int,
    pairs: Pairs,
    order: np.ndarray,
    go_on: Callable[[], None] = lambda: None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the k nearest of `columns` for each of `rows`, in their orders; see `collect`."""
    kernels = compiled(load_kernels)
    if kernels is None:
        return None
    left = np.column_stack([-2 * rows, _squares(rows), np.ones(len(rows), np.float32)])
    right = np.column_stack([columns, np.ones(len(columns), np.float32), _squares(columns)])
    keys, counts = np.empty((len(rows), 2 * k), np.uint64), np.zeros(len(rows), np.int32)
    with single_threaded_blas():
        for number, (row, column) in enumerate(pairs):
            if number % 256 == 0:
                go_on()
            squared = left[row] @ right[column].T
            kernels.collect(squared, row.start, offset + column.start, limits, keys, counts, k)
    indices, farthest = np.full((len(rows), k), -1, np.int32), np.empty(len(rows), np.float32)
    kernels.keep_nearest(keys, counts, k, order, indices, farthest)
    return indices, farthest


def _squares(points: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("nd,nd->n", points, points))


def _blocks(regions: np.ndarray) -> tuple[list[slice], np.ndarray]:
    """Return blocks of at most _BLOCK_ROWS points, each of one region, and their regions; from sorted regions."""
    starts = np.flatnonzero(np.diff(regions, prepend=-1))
    ends = np.append(starts[1:], len(regions))
    blocks = [
        slice(at, min(at + _BLOCK_ROWS, end))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for at in range(start, end, _BLOCK_ROWS)
    ]
    return blocks, regions[[block.start for block in blocks]]


def load_kernels() -> ModuleType:
    """Import the kernels: for `compiled`."""
    from dmlviz.ops import neighbor_kernels

    return neighbor_kernels
