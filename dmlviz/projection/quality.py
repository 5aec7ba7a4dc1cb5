"""Projection quality: how well a map preserves neighbors and distances of the embeddings. No torch."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from dmlviz.errors import UserError
from dmlviz.ops.ball import curvature_of
from dmlviz.ops.compiled import compiled
from dmlviz.ops.neighbor_index import NeighborTable
from dmlviz.ops.squared_distances import SquaredDistances, available_threads, rescale, single_threaded_blas
from dmlviz.ops.stopping import stop_check
from dmlviz.projection.euclidean_form import comparable, euclidean_after_all, near_others, squared_to_all
from dmlviz.projection.validation import check_embeddings

MEASURES = ("trustworthiness", "continuity", "neighbors_kept", "distance_correlation")
MAX_POINTS = 10_000
_BLOCK_ROWS = 64
_COMPILED_FROM = 1_000  # points


@dataclass(frozen=True)
class ProjectionQuality:
    """Four quality measures of a map, 1 is best.

    `trustworthiness`: how near in the embedding the k neighbors on the map are. `continuity`: how near on the map the
    k true neighbors are. `neighbors_kept`: the k-NN recall, the share of the k true neighbors that are neighbors on
    the map. `distance_correlation`: Pearson correlation of distances in the embedding and on the map.

    Attributes:
        k: Number of neighbors.
        n: Number of points.
        measured: Number of points measured, each against all others.
        overall: Measures of the whole map.
        per_point: Measures of each point (n, float32), NaN where not measured.
        index: Share of the neighbors from which the map was drawn that are right, and the number of points on which
            that was measured; empty where all are.

    Reference:
        Venna and Kaski 2001 (trustworthiness and continuity).
    """

    k: int
    n: int
    measured: int
    overall: Mapping[str, float]
    per_point: Mapping[str, np.ndarray] = field(repr=False)
    index: Mapping[str, float] = field(default_factory=dict)

    @property
    def sampled(self) -> bool:
        """Return whether only a sample of the points was measured."""
        return self.measured < self.n

    @property
    def summary(self) -> dict[str, float]:
        """The overall measures, k, measured, n and what is known of the index as plain numbers."""
        return {**self.overall, **self.index, "k": self.k, "measured": self.measured, "n": self.n}


class Distances(Protocol):
    """Squared distances in one space."""

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return those of some points to all (rows × n, float32), as a new array."""


def projection_quality(
    embeddings: Any,
    coordinates: Any,
    k: int = 10,
    *,
    metric: str = "euclidean",
    largest: int = MAX_POINTS,
    neighbors: NeighborTable | None = None,
) -> ProjectionQuality:
    """Return the quality of a map.

    Args:
        embeddings: Embeddings (n × d), finite; NumPy or torch.
        coordinates: Positions, n × dims.
        k: Number of neighbors; limited to below n / 2.
        metric: Metric of the embeddings.
        largest: Beyond so many points a random sample is measured, in about the same time.
        neighbors: The nearest others of every embedding, k or more; searched where they are missing or not exact.

    Raises:
        UserError: For fewer than 2 points, or another number of positions than embeddings.

    Examples:
        >>> points = np.random.default_rng(0).standard_normal((50, 2))
        >>> projection_quality(points, points).overall["neighbors_kept"]
        1.0
    """
    high_dim, low_dim = _checked_float64(embeddings), _checked_float64(coordinates, "Coordinates")
    n = len(high_dim)
    if len(low_dim) != n or n < 2:
        raise UserError(
            f"A map has one position for each of 2 or more embeddings; got {len(low_dim):,} positions for "
            f"{n:,} embeddings."
        )
    high_dim = comparable(high_dim, metric)
    k = min(k, max(1, (n - 1) // 2))
    rows = np.arange(n)
    if n > largest:
        rows = np.sort(np.random.default_rng(0).choice(n, max(1, largest * largest // n), replace=False))
    if any((points == points[0]).all() for points in (high_dim, low_dim)):  # nobody is nearer than anybody else
        nothing = np.zeros(n, np.float32)
        return ProjectionQuality(k, n, n, dict.fromkeys(MEASURES, 0.0), dict.fromkeys(MEASURES, nothing), {})
    by_index = neighbors is not None and neighbors.measured > 0
    if neighbors is None or by_index or neighbors.indices.shape[1] < k:
        high_neighbors = near_others(high_dim, k, rows, metric)
    else:
        high_neighbors = neighbors.indices[rows, :k]
    low_neighbors = near_others(low_dim, k, rows, "euclidean")
    matches = high_neighbors[:, :, None] == low_neighbors[:, None, :]
    order = np.argsort(matches.any(axis=2).sum(axis=1))  # rows of a block then have similar numbers of common neighbors
    rows, matches = rows[order], matches[order]
    high_neighbors = _unmatched_first(high_neighbors[order], matches.any(axis=2))
    low_neighbors = _unmatched_first(low_neighbors[order], matches.any(axis=1))
    num_common = matches.any(axis=2).sum(axis=1)
    low_dim, _, _ = rescale(low_dim, low_dim)
    kernels = compiled(load_kernels) if n >= _COMPILED_FROM else None
    high_distances: Distances
    if not euclidean_after_all(metric):
        high_distances = _OtherDistances(high_dim, metric)
    else:
        single = None if curvature_of(high_dim) else kernels
        high_distances = _SingleDistances(high_dim, single) if single else _all_distances(high_dim)
    low_distances = None if kernels else SquaredDistances(low_dim, low_dim, np.dtype(np.float32))
    positions = np.ascontiguousarray(low_dim.T)

    check = stop_check()

    def measure_block(start: int) -> tuple[np.ndarray, np.ndarray]:
        check()
        part = slice(start, start + _BLOCK_ROWS)
        near = rows[part], high_neighbors[part], low_neighbors[part], num_common[part]
        if low_distances is not None:
            return _measure_block(high_distances, low_distances, *near)
        return _measure_compiled(kernels, high_distances, positions, *near)

    with single_threaded_blas(), ThreadPoolExecutor(available_threads()) as pool:
        measures, moments = zip(*pool.map(measure_block, range(0, len(rows), _BLOCK_ROWS)), strict=True)
    per_row = np.concatenate(measures, axis=1)
    overall = dict(zip(MEASURES, per_row.mean(axis=1).tolist(), strict=True))
    overall["distance_correlation"] = float(_correlation(np.sum(moments, axis=0), len(rows) * (n - 1)))
    per_point = np.full((len(MEASURES), n), np.nan, np.float32)
    per_point[:, rows] = per_row
    index = {"index_recall": neighbors.recall, "index_measured": neighbors.measured} if neighbors and by_index else {}
    return ProjectionQuality(k, n, len(rows), overall, dict(zip(MEASURES, per_point, strict=True)), index)


def map_ranks(coordinates: np.ndarray, item: int, neighbors: np.ndarray) -> np.ndarray:
    """Return which neighbors of an item are near it on the map, too.

    Near means: among the nearest 1% of all points, or the nearest 2 k if that is more.

    Args:
        coordinates: Positions, n × dims.
        item: Index of the item.
        neighbors: Indices of its neighbors in the embedding, k.

    Returns:
        k booleans.

    Examples:
        >>> map_ranks(np.array([[0.0], [1.0], [2.0], [9.0], [8.0]]), item=0, neighbors=np.array([1]))
        array([ True])
        >>> map_ranks(np.array([[0.0], [1.0], [2.0], [9.0], [8.0]]), item=0, neighbors=np.array([3]))
        array([False])
    """
    low_dim = np.asarray(coordinates, np.float64)
    distance = np.square(low_dim - low_dim[item]).sum(axis=1)
    rank = np.searchsorted(np.sort(np.delete(distance, item)), distance[neighbors])
    return np.asarray(rank < max(2 * len(neighbors), len(low_dim) // 100))


def _checked_float64(points: Any, noun: str = "Embeddings") -> np.ndarray:
    """Validate points like every projection does, but return them in full precision (n × d, float64)."""
    return np.asanyarray(check_embeddings(points, noun), np.float64)


def _all_distances(space: np.ndarray) -> SquaredDistances:
    space, _, _ = rescale(space, space)
    return SquaredDistances(space, space, np.dtype(np.float32))


class _SingleDistances:
    """Squared distances to all points in single precision, near ones from differences."""

    def __init__(self, space: np.ndarray, kernels: ModuleType) -> None:
        self._points, self._kernels = np.asarray(rescale(space, space)[0], np.float32), kernels
        self._norms = np.einsum("nd,nd->n", self._points, self._points)
        squares = self._norms[:, None]
        ones = np.ones_like(squares)
        self._left, self._right = (
            np.hstack([-2 * self._points, squares, ones]),
            np.hstack([self._points, ones, squares]),
        )

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the squared distances of some points to all (rows × n)."""
        squared: np.ndarray = self._left[rows] @ self._right.T
        self._kernels.refine(squared, self._points, self._norms, rows)
        return squared


class _OtherDistances:
    """Squared distances to all points, by a metric that no transformation makes Euclidean."""

    def __init__(self, space: np.ndarray, metric: str) -> None:
        self.space, self.metric = space, metric

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the squared distances of some points to all (rows × n)."""
        return squared_to_all(self.space[rows], self.space, self.metric)


def _measure_block(
    high_distances: Distances,
    low_distances: SquaredDistances,
    rows: np.ndarray,
    high_neighbors: np.ndarray,
    low_neighbors: np.ndarray,
    num_common: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the measures of some rows (4 × rows), and the sums of their moments for the overall correlation."""
    high, low = high_distances.of(rows), low_distances.of(rows)
    n, k = high.shape[1], high_neighbors.shape[1]
    moments = _moments(np.sqrt(high), np.sqrt(low), rows)
    false_penalty, missing_penalty = np.zeros(len(rows)), np.zeros(len(rows))
    worst = k * (2 * n - 3 * k - 1) / 2
    if worst > 0:
        num_unmatched = k - num_common.min()
        false_penalty = _rank_penalty(high, rows, low_neighbors[:, :num_unmatched], k) / worst
        missing_penalty = _rank_penalty(low, rows, high_neighbors[:, :num_unmatched], k) / worst
    measures = [1 - false_penalty, 1 - missing_penalty, num_common / k, _correlation(moments, n - 1)]
    return np.stack(measures), moments.sum(axis=1)


def _measure_compiled(
    kernels: ModuleType | None,
    high_distances: Distances,
    positions: np.ndarray,
    rows: np.ndarray,
    high_neighbors: np.ndarray,
    low_neighbors: np.ndarray,
    num_common: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `_measure_block` does, by a compiled loop; positions are dims × n."""
    assert kernels is not None
    high = np.ascontiguousarray(high_distances.of(rows))
    n, k = high.shape[1], high_neighbors.shape[1]
    moments, penalties = np.zeros((5, len(rows))), np.zeros((2, len(rows)))
    near = (np.ascontiguousarray(ids, np.int32) for ids in (low_neighbors, high_neighbors))
    kernels.measure(high, positions, rows, num_common, *near, k, moments, penalties)
    worst = k * (2 * n - 3 * k - 1) / 2
    measures = [*(1 - penalties / worst), num_common / k, _correlation(moments, n - 1)]
    return np.stack(measures), moments.sum(axis=1)


def load_kernels() -> ModuleType:
    """Import the kernels: for `compiled`."""
    from dmlviz.projection import quality_kernels

    return quality_kernels


def _unmatched_first(neighbors: np.ndarray, is_match: np.ndarray) -> np.ndarray:
    """Sort each row's neighbors in one space: first those that are not neighbors in the other."""
    return np.take_along_axis(neighbors, np.argsort(is_match, axis=1, kind="stable"), axis=1)


def _rank_penalty(squared: np.ndarray, rows: np.ndarray, others: np.ndarray, k: int) -> np.ndarray:
    """Return Σ (rank − k) over the others that are not among a row's k nearest; equal distances share a rank."""
    squared[np.arange(len(rows)), rows] = np.inf
    bounds = np.take_along_axis(squared, others, axis=1)
    total = np.zeros(len(rows))
    for bound in bounds.T:
        closer = squared < bound[:, None]
        # Counting row by row is several times as fast as along an axis.
        total += np.maximum([np.count_nonzero(row) + 1 - k for row in closer], 0)
    return total


def _moments(a: np.ndarray, b: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return Σa, Σb, Σaa, Σbb, Σab (5 × rows) of two distances, without each point's distance to itself."""
    a[np.arange(len(rows)), rows] = b[np.arange(len(rows)), rows] = 0
    products = [np.einsum("nm,nm->n", left, right) for left, right in ((a, a), (b, b), (a, b))]
    return np.stack([a.sum(axis=1), b.sum(axis=1), *products]).astype(np.float64)


def _correlation(moments: np.ndarray, count: int) -> np.ndarray:
    """Return the Pearson correlation from moments; 0 where one of the distances is constant."""
    a, b, aa, bb, ab = moments / count
    variance = (aa - a * a) * (bb - b * b)
    defined = variance > 1e-10 * (aa * bb)
    return np.where(defined, (ab - a * b) / np.sqrt(np.where(defined, variance, 1)), 0.0)
