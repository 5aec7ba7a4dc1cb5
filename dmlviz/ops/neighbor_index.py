"""Approximate k-NN of all points at once, by comparing near regions, at a measured recall."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dmlviz.ops.all_neighbors import Regions
from dmlviz.ops.nearest_neighbors import EuclideanSearch, NearestNeighbors

WANTED_RECALL = 0.97  # of the rows on which the rank of the regions is chosen
MEASURED = 1_000  # rows on which the recall is measured
_CHOSEN_ON = 100  # rows


class NeighborTable(NamedTuple):
    """The k nearest others of every point.

    Attributes:
        indices: n × k, int32, nearest first.
        distances: n × k, float32.
        recall: Share of the neighbors that are right, of the measured rows; 1 for an exact search.
        measured: Rows on which the recall was measured; 0 for an exact search.
    """

    indices: np.ndarray
    distances: np.ndarray
    recall: float
    measured: int

    def first(self, k: int) -> "NeighborTable":
        """Return a copy with only the k nearest."""
        return self._replace(indices=self.indices[:, :k].copy(), distances=self.distances[:, :k].copy())


def exact_table(points: np.ndarray, k: int) -> NeighborTable:
    """Return the k nearest others of each point (n × d, finite), all of them right."""
    distances, indices = NearestNeighbors(points).others(k)
    return NeighborTable(indices.astype(np.int32), distances, 1.0, 0)


class NeighborIndex:
    """Finds nearly the k nearest of points: all that lie in regions as near as a wanted recall takes.

    Args:
        points: Points (n × d), finite.
        k: Number of neighbors, below n.
        wanted: Recall from which on no more regions are compared, from 0 to 1.
        go_on: Called several times a second; may raise to cancel.
        measured: Rows on which the recall is measured.
    """

    def __init__(
        self,
        points: np.ndarray,
        k: int,
        wanted: float = WANTED_RECALL,
        go_on: Callable[[], None] = lambda: None,
        *,
        measured: int = MEASURED,
    ) -> None:
        self._k, self._go_on = k, go_on
        self._exact = EuclideanSearch(points)
        self._regions = Regions(self._exact.centered(points))
        rows = np.random.default_rng(0).permutation(len(points))[: _CHOSEN_ON + measured]
        region = self._regions.region
        ranks = self._regions.ranks[region[rows, None], region[self._exact.others(k, rows)[1]]]
        few = min(_CHOSEN_ON, len(rows) // 2)
        self._rank = int(np.quantile(ranks[:few], wanted, method="higher"))
        self._recall = float((ranks[few:] <= self._rank).mean()), len(rows) - few

    def table(self) -> NeighborTable:
        """Return the neighbors of every point; equal points are neighbors. The recall is of rows that chose nothing."""
        found = None if self._exact.curvature else self._regions.nearest(self._k, self._go_on, self._rank)
        if found is None:  # no kernels, or a ball, whose neighbors regions of the plane do not rank
            squared, indices = self._exact.others(self._k, go_on=self._go_on)
            return NeighborTable(indices, np.sqrt(squared), 1.0, 0)
        squared, indices = self._exact.ranked(found[0])
        return NeighborTable(indices, np.sqrt(squared), *self._recall)

    def search(self, queries: np.ndarray) -> np.ndarray:
        """Return the indices of nearly the k nearest points of each query (m × k), in any order; -1 for none."""
        ranked = not self._exact.curvature
        found = self._regions.search(self._exact.centered(queries), self._k, self._rank) if ranked else None
        return self._exact.search(queries, self._k)[1] if found is None else found


def indexed_table(
    points: np.ndarray, k: int, wanted: float = WANTED_RECALL, go_on: Callable[[], None] = lambda: None
) -> NeighborTable:
    """Return nearly the k nearest others of each point, and how many of them are right: see `NeighborIndex`.

    Examples:
        >>> points = np.random.default_rng(0).standard_normal((2000, 4)).astype(np.float32)
        >>> table = indexed_table(points, k=5)
        >>> table.indices.shape, table.measured, table.recall > 0.9
        ((2000, 5), 1000, True)
    """
    return NeighborIndex(points, k, wanted, go_on).table()
