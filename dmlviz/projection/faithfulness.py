"""How far a map can be believed: what it keeps of the neighbours and distances in the embedding. Loads no torch."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics.distances import SquaredDistances, available_threads, blas_on_one_thread, conditioned
from dmlviz.projection.limits import points
from dmlviz.projection.metrics import euclidean_after_all, near_others, squared_to_all
from dmlviz.projection.neighbours import comparable

MEASURES = ("trustworthiness", "continuity", "neighbours_kept", "distance_correlation")
LARGEST = 10_000
_BLOCK = 64


@dataclass(frozen=True)
class Faithfulness:
    """Four measures, 1 is best: of the whole map, and of every point (n, float32).

    `trustworthiness`: how near in the embedding the k neighbours on the map are; `continuity`: how near on the map
    the k true neighbours are (both Venna & Kaski 2001); `neighbours_kept`: the share of the k true neighbours that
    are neighbours on the map; `distance_correlation`: Pearson's between distances there and here. Where `sampled`,
    only `measured` points were looked at, each against all others, and the rest hold NaN.
    """

    k: int
    n: int
    measured: int
    overall: Mapping[str, float]
    per_point: Mapping[str, np.ndarray] = field(repr=False)

    @property
    def sampled(self) -> bool:
        """Whether the figures rest on a part of the points only."""
        return self.measured < self.n

    @property
    def summary(self) -> dict[str, float]:
        """The overall measures, k, and of how many points how many were measured: plain numbers."""
        return {**self.overall, "k": self.k, "measured": self.measured, "n": self.n}


def faithfulness_of(
    embeddings: Any, coordinates: Any, k: int = 10, *, metric: str = "euclidean", largest: int = LARGEST
) -> Faithfulness:
    """Measure a map (n × dims) of embeddings (n × d); beyond `largest` points a random sample of them is looked at.

    The sample is as large as fits the time that `largest` points take. k is cut to what n allows (below n/2).
    """
    there, here = _exact(embeddings), _exact(coordinates, "Coordinates")
    n = len(there)
    if len(here) != n or n < 2:
        raise UserError(f"A map has a place for each of 2 or more embeddings; got {len(here)} places for {n}.")
    there = comparable(there, metric)
    k = min(k, max(1, (n - 1) // 2))
    rows = np.arange(n)
    if n > largest:
        rows = np.sort(np.random.default_rng(0).choice(n, max(1, largest * largest // n), replace=False))
    near_there, near_here = near_others(there, k, rows, metric), near_others(here, k, rows, "euclidean")
    both = near_there[:, :, None] == near_here[:, None, :]
    alike = np.argsort(both.any(axis=2).sum(axis=1))  # blocks of rows that keep as many neighbours
    rows, both = rows[alike], both[alike]
    near_there = _strangers_first(near_there[alike], both.any(axis=2))
    near_here = _strangers_first(near_here[alike], both.any(axis=1))
    far = _all_distances(there) if euclidean_after_all(metric) else _OtherDistances(there, metric)
    near, kept = _all_distances(here), both.any(axis=2).sum(axis=1)

    def measured(start: int) -> tuple[np.ndarray, np.ndarray]:
        part = slice(start, start + _BLOCK)
        return _block(far, near, rows[part], near_there[part], near_here[part], kept[part])

    with blas_on_one_thread(), ThreadPoolExecutor(available_threads()) as pool:
        figures, moments = zip(*pool.map(measured, range(0, len(rows), _BLOCK)), strict=True)
    per_row = np.concatenate(figures, axis=1)
    overall = dict(zip(MEASURES, per_row.mean(axis=1).tolist(), strict=True))
    overall["distance_correlation"] = float(_correlation(np.sum(moments, axis=0), len(rows) * (n - 1)))
    per_point = np.full((len(MEASURES), n), np.nan, np.float32)
    per_point[:, rows] = per_row
    return Faithfulness(k, n, len(rows), overall, dict(zip(MEASURES, per_point, strict=True)))


def near_on_map(coordinates: np.ndarray, item: int, neighbours: np.ndarray) -> np.ndarray:
    """Which of an item's neighbours (k indices) are near it on the map (n × dims), as k booleans.

    Near are the nearest hundredth of all points, at least twice as many as there are neighbours.
    """
    here = np.asarray(coordinates, np.float64)
    distance = np.square(here - here[item]).sum(axis=1)
    closer = np.searchsorted(np.sort(np.delete(distance, item)), distance[neighbours])
    return closer < max(2 * len(neighbours), len(here) // 100)


def _exact(given: Any, noun: str = "Embeddings") -> np.ndarray:
    """Checked as every projection's points are, with all digits that were given (n × d, float64)."""
    points(given, noun)
    return np.asarray(given.detach().cpu() if hasattr(given, "detach") else given, np.float64)


def _all_distances(space: np.ndarray) -> SquaredDistances:
    space, _, _ = conditioned(space, space)
    return SquaredDistances(space, space, np.dtype(np.float32))


class _OtherDistances:
    """Squared distances to all points by a metric that is not Euclidean in any coordinates."""

    def __init__(self, space: np.ndarray, metric: str) -> None:
        self.space, self.metric = space, metric

    def of(self, rows: np.ndarray) -> np.ndarray:
        """From these points (rows × n)."""
        return squared_to_all(self.space[rows], self.space, self.metric)


def _block(
    there: "SquaredDistances | _OtherDistances",
    here: SquaredDistances,
    rows: np.ndarray,
    near_there: np.ndarray,
    near_here: np.ndarray,
    kept: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The measures of some rows (4 × rows), and the moments of their distances for the correlation over all pairs."""
    far, near = there.of(rows), here.of(rows)
    n, k = far.shape[1], near_there.shape[1]
    moments = _moments(np.sqrt(far), np.sqrt(near), rows)
    strangers, torn = np.zeros(len(rows)), np.zeros(len(rows))
    worst = k * (2 * n - 3 * k - 1) / 2
    if worst > 0:
        most = k - kept.min()
        strangers = _strangeness(far, rows, near_here[:, :most], k) / worst
        torn = _strangeness(near, rows, near_there[:, :most], k) / worst
    return np.stack([1 - strangers, 1 - torn, kept / k, _correlation(moments, n - 1)]), moments.sum(axis=1)


def _strangers_first(near: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The k neighbours of each row in one space, those first that are none in the other."""
    return np.take_along_axis(near, np.argsort(known, axis=1, kind="stable"), axis=1)


def _strangeness(squared: np.ndarray, rows: np.ndarray, others: np.ndarray, k: int) -> np.ndarray:
    """Σ of rank − k over those of the others that are not among a row's k nearest; equal distances share a rank."""
    squared[np.arange(len(rows)), rows] = np.inf
    bounds = np.take_along_axis(squared, others, axis=1)
    total = np.zeros(len(rows))
    for bound in bounds.T:
        closer = squared < bound[:, None]
        # Row by row: several times as fast as counting along an axis.
        total += np.maximum([np.count_nonzero(row) + 1 - k for row in closer], 0)
    return total


def _moments(there: np.ndarray, here: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Σa, Σb, Σaa, Σbb, Σab of two distances for each row, without a point's distance to itself."""
    there[np.arange(len(rows)), rows] = here[np.arange(len(rows)), rows] = 0
    pairs = ((there, there), (here, here), (there, here))
    sums = [there.sum(axis=1), here.sum(axis=1), *(np.einsum("nm,nm->n", a, b) for a, b in pairs)]
    return np.stack(sums).astype(np.float64)


def _correlation(moments: np.ndarray, count: int) -> np.ndarray:
    """Pearson's correlation from moments; 0 where one of the distances is the same for all pairs."""
    a, b, aa, bb, ab = moments / count
    spread = (aa - a * a) * (bb - b * b)
    known = spread > 1e-10 * (aa * bb)
    return np.where(known, (ab - a * b) / np.sqrt(np.where(known, spread, 1)), 0.0)
