"""Nearest-neighbor two-sample test: do two sets of embeddings come from the same cloud?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmlviz.errors import UserError
from dmlviz.ops.nearest_neighbors import EuclideanSearch

K = 5
PERMUTATIONS = 499
FEWEST = 5  # in each sample
_AT_A_TIME = 64  # permutations
MOST_WITHOUT_KERNELS = 20_000  # points, among which kernels save less than it takes to load them


@dataclass(frozen=True)
class TwoSampleTest:
    """The result of a test.

    Attributes:
        share: Share of the nearest neighbors that are of a point's own sample, the mean of both samples: .5 for one
            cloud, up to rounding and chance; 1 where the samples lie apart.
        p: Share of the permutations of the samples with a share as large.
        sizes: Number of points of the first and of the second sample.
    """

    share: float
    p: float
    sizes: tuple[int, int]


@dataclass(frozen=True)
class PooledNeighbors:
    """Nearest neighbors of two samples, of n and m points, in each other and among themselves.

    Attributes:
        neighbors: The k nearest other points of each, among both samples, the second after the first ((n + m) × k).
        within: Distance of the nearest other point of the first sample, for each of its points (n).
        nearest: The nearest points of the first sample, for each of the second (m × k or more, fewer if it is smaller).
        distances: Their distances.
        sizes: n and m.
    """

    neighbors: np.ndarray
    within: np.ndarray
    nearest: np.ndarray
    distances: np.ndarray
    sizes: tuple[int, int]


def pooled_neighbors(first: np.ndarray, second: np.ndarray, k: int = K, across: int = K) -> PooledNeighbors:
    """Find neighbors of two samples (n × d and m × d, finite, n of two or more), `across` ≥ k of them in the first."""
    n, m = len(first), len(second)
    samples = [EuclideanSearch(np.asanyarray(points, first.dtype)) for points in (first, second)]
    (to_first, to_second), own = (search.search for search in samples), [_others(search, k) for search in samples]
    back, out = to_first(np.asarray(second, first.dtype), min(across, n)), to_second(first, min(k, m))
    across_k = back[0][:, :k], back[1][:, :k]
    rows = []
    for (own_squared, own_near), (squared, near), begin, other in ((own[0], out, 0, n), (own[1], across_k, n, 0)):
        both = np.concatenate([own_squared, squared], axis=1)
        indices = np.concatenate([own_near + begin, near + other], axis=1)
        order = np.argsort(both, axis=1, kind="stable")[:, :k]
        rows.append(np.take_along_axis(indices, order, axis=1))
    least = min(row.shape[1] for row in rows)
    neighbors = np.concatenate([row[:, :least] for row in rows]).astype(np.int32)
    return PooledNeighbors(neighbors, np.sqrt(own[0][0][:, 0]), back[1], np.sqrt(back[0]), (n, m))


def _others(search: EuclideanSearch, k: int) -> tuple[np.ndarray, np.ndarray]:
    if len(search) == 1:
        return np.empty((1, 0)), np.empty((1, 0), np.int64)
    rows = np.arange(len(search)) if len(search) <= MOST_WITHOUT_KERNELS else None
    return search.others(min(k, len(search) - 1), rows)


def two_sample_test(pooled: PooledNeighbors, permutations: int = PERMUTATIONS, seed: int = 0) -> TwoSampleTest:
    """Test whether two samples come from the same distribution, by their nearest neighbors in the pooled sample.

    Args:
        pooled: The neighbors.
        permutations: Number of permutations; the smallest p-value is 1 / (permutations + 1).
        seed: Seed of the permutations.

    Raises:
        UserError: For fewer than five points in a sample.

    Reference:
        Schilling: Multivariate two-sample tests based on nearest neighbors, 1986; with equal weights of both samples.

    Examples:
        >>> points = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
        >>> two_sample_test(pooled_neighbors(points[:40], points[40:] + 3)).share > 0.95
        True
    """
    n, m = pooled.sizes
    if min(n, m) < FEWEST:
        raise UserError(f"A two-sample test needs {FEWEST} images on each side; got {n:,} and {m:,}.")
    k, rng = pooled.neighbors.shape[1], np.random.default_rng(seed)
    times = np.bincount(pooled.neighbors.ravel(), minlength=n + m)  # how often each point is a neighbor

    def shares(samples: list[np.ndarray]) -> np.ndarray:  # each the points of a second sample
        is_second = np.zeros((n + m, len(samples)), np.uint8)
        for column, points in enumerate(samples):
            is_second[points, column] = 1
        near = sum(is_second[neighbors] for neighbors in pooled.neighbors.T)
        own = (near * is_second).sum(axis=0, dtype=np.int64)
        into = np.array([times[points].sum() for points in samples]) - own  # from the first sample into the second
        return np.asarray((1 - into / (n * k) + own / (m * k)) / 2)

    order, found = np.arange(n + m), float(shares([np.arange(n, n + m)])[0])
    larger = 0
    for start in range(0, permutations, _AT_A_TIME):
        drawn = [rng.permutation(order)[:m] for _ in range(start, min(start + _AT_A_TIME, permutations))]
        larger += int(np.count_nonzero(shares(drawn) >= found - 1e-12))
    return TwoSampleTest(found, (1 + larger) / (permutations + 1), (n, m))


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values of several tests, corrected by Holm's method, so that one error among all has a rate of α.

    Reference:
        Holm: A simple sequentially rejective multiple test procedure, 1979.

    Examples:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    values, order = np.asarray(p, float), np.argsort(p, kind="stable")
    corrected = np.empty(len(values))
    corrected[order] = np.maximum.accumulate(np.minimum(1, (len(values) - np.arange(len(values))) * values[order]))
    result: list[float] = corrected.tolist()
    return result
