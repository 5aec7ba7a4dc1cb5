"""Whose neighbours are whose: every retrieval score from one ranking of the gallery for each query."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmlviz.metrics.classification import vote
from dmlviz.metrics.distances import conditioned, sweep
from dmlviz.metrics.inputs import Embedded

NEIGHBOURS = 5


@dataclass(frozen=True)
class Ranking:
    """What each query found; `queries` are the indices of those that have a relevant item, in order.

    `relevant` (R) counts a query's relevant items, `first_hit` is the rank of the nearest one (from 1), `hits_in_r`
    counts those among the first R. `nearest` holds the gallery indices of the 5 nearest items, or of all where there
    are fewer. `average_precision` is None unless the full ranking was asked for.
    """

    queries: np.ndarray
    relevant: np.ndarray
    first_hit: np.ndarray
    hits_in_r: np.ndarray
    average_precision_at_r: np.ndarray
    average_precision: np.ndarray | None
    nearest: np.ndarray


class Ranker:
    """Fills a Ranking from the chunks of a sweep.

    A distance and whether the item is relevant are packed into one integer: the bits of a non-negative float order as
    integers do, and the lowest one is given to relevance. So a plain sort, which is fast, ranks relevance, and at equal
    distance an irrelevant item comes first: a collapsed space scores 0, not whatever the order of the images gives.
    """

    def __init__(self, queries: Embedded, gallery: Embedded | None, full: bool = False) -> None:
        self.itself, self.full = gallery is None, full
        small = np.min_scalar_type(max(len(queries.names) - 1, 0))
        self.small_classes = queries.classes.astype(small)
        self.small_gallery = (gallery or queries).classes.astype(small)
        self.integer = np.dtype(f"i{queries.points.itemsize}")
        self.last = np.iinfo(self.integer).max - 1
        relevant = (gallery or queries).counts[queries.classes] - int(self.itself)
        self.queries = np.flatnonzero(relevant > 0)
        self.relevant = relevant[self.queries]
        n, others = len(self.queries), len(self.small_gallery) - int(self.itself)
        self.depth = min(others, max(int(self.relevant.max(initial=0)), NEIGHBOURS))
        self.first_hit, self.hits_in_r = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.average_precision_at_r, self.average_precision = np.zeros(n), np.zeros(n)
        self.nearest = np.zeros((n, min(NEIGHBOURS, max(others, 1))), np.int64)

    def visit(self, rows: slice, squared: np.ndarray) -> None:
        """Rank the gallery for the queries `rows` (of those with a relevant item), given squared distances."""
        keys = self.keys(rows, squared)
        if self.full:
            ranked = np.sort(keys, axis=1)
            self.average_precision[rows] = _precision_sums((ranked & 1).astype(bool)) / self.relevant[rows]
            head = ranked[:, : self.depth]
        else:
            head = np.partition(keys, self.depth - 1, axis=1)[:, : self.depth]
            head.sort(axis=1)
        hits, relevant = (head & 1).astype(bool), self.relevant[rows]
        within = hits & (np.arange(self.depth) < relevant[:, None])
        self.first_hit[rows] = _first_hits(hits, keys)
        self.hits_in_r[rows] = np.count_nonzero(within, axis=1)
        self.average_precision_at_r[rows] = _precision_sums(within) / relevant
        self.nearest[rows] = _smallest(keys, head[:, self.nearest.shape[1] - 1], self.nearest.shape[1])

    def keys(self, rows: slice, squared: np.ndarray) -> np.ndarray:
        """Distance and relevance of every item for those queries, packed; the query itself comes last."""
        keys = np.bitwise_and(squared.view(self.integer), self.last)
        np.bitwise_or(keys, self.small_classes[self.queries[rows], None] == self.small_gallery, out=keys)
        if self.itself:
            keys[np.arange(len(keys)), self.queries[rows]] = self.last
        return keys

    def ranking(self) -> Ranking:
        """The whole, after every chunk was visited."""
        return Ranking(
            self.queries,
            self.relevant,
            self.first_hit,
            self.hits_in_r,
            self.average_precision_at_r,
            self.average_precision if self.full else None,
            self.nearest,
        )


def rank(queries: Embedded, gallery: Embedded | None = None, full: bool = False) -> Ranking:
    """Rank the gallery, or all other queries, for each query by Euclidean distance; the query itself goes by index."""
    ranker = Ranker(queries, gallery, full)
    points, others, _ = conditioned(queries.points, queries.points if gallery is None else gallery.points)
    sweep(points[ranker.queries], others, queries.points.dtype, ranker.visit)
    return ranker.ranking()


def first_hits(queries: Embedded, gallery: Embedded | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`queries`, `first_hit` and the nearest item (m each) of a Ranking, for two thirds of what that costs.

    Only a few of the nearest are sorted, not as many as a class has images.
    """
    ranker = Ranker(queries, gallery)
    nearest, depth = np.zeros(len(ranker.queries), np.int64), ranker.nearest.shape[1]

    def visit(rows: slice, squared: np.ndarray) -> None:
        keys = ranker.keys(rows, squared)
        hits = (np.sort(np.partition(keys, depth - 1, axis=1)[:, :depth], axis=1) & 1).astype(bool)
        ranker.first_hit[rows] = _first_hits(hits, keys)
        nearest[rows] = keys.argmin(axis=1)

    points, others, _ = conditioned(queries.points, queries.points if gallery is None else gallery.points)
    sweep(points[ranker.queries], others, queries.points.dtype, visit)
    return ranker.queries, ranker.first_hit, nearest


def scores(ranking: Ranking, queries: Embedded, gallery: Embedded | None, ks: Sequence[int]) -> dict[str, float]:
    """Mean over the queries that have a relevant item; NaN where none has.

    R-precision and MAP@R: Musgrave, Belongie, Lim 2020. `cmc_at_k` is the share of queries with a hit among the first
    k, which is what metric learning calls `recall_at_k`.
    """
    first = ranking.first_hit
    result = {"precision_at_1": mean(first == 1)}
    result |= {f"recall_at_{k}": mean(first <= k) for k in ks}
    result |= {
        "r_precision": mean(ranking.hits_in_r / ranking.relevant),
        "map_at_r": mean(ranking.average_precision_at_r),
        "mrr": mean(1 / first),
    }
    if ranking.average_precision is not None:
        result["map"] = mean(ranking.average_precision)
    result |= {f"cmc_at_{k}": result[f"recall_at_{k}"] for k in ks}
    voted = vote((gallery or queries).classes[ranking.nearest])
    result["knn_accuracy"] = mean(voted == queries.classes[ranking.queries])
    return result


def mean(values: np.ndarray) -> float:
    """The mean, NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def _first_hits(hits: np.ndarray, keys: np.ndarray) -> np.ndarray:
    first = hits.argmax(axis=1) + 1
    missed = ~hits.any(axis=1)
    if missed.any():
        keys = keys[missed]
        nearest_relevant = np.where(keys & 1, keys, np.iinfo(keys.dtype).max).min(axis=1)
        first[missed] = np.count_nonzero(keys < nearest_relevant[:, None], axis=1) + 1
    return first


def _precision_sums(hits: np.ndarray) -> np.ndarray:
    """For each row the sum, over its hits, of the precision at that rank."""
    counts = np.count_nonzero(hits, axis=1)
    starts, some = np.cumsum(counts) - counts, counts > 0
    rank_from_0 = np.flatnonzero(hits) - np.repeat(np.arange(len(hits)) * hits.shape[1], counts)
    nth_hit = np.arange(1, len(rank_from_0) + 1) - np.repeat(starts, counts)
    sums = np.zeros(len(hits))
    if some.any():
        sums[some] = np.add.reduceat(nth_hit / (rank_from_0 + 1), starts[some])
    return sums


def _smallest(keys: np.ndarray, limit: np.ndarray, k: int) -> np.ndarray:
    """The columns of the k smallest keys of each row, in order, earlier columns first; `limit` is the k-th smallest."""
    near = np.flatnonzero(keys <= limit[:, None])
    starts = np.searchsorted(near, np.arange(len(keys) + 1) * keys.shape[1])
    found = np.zeros((len(keys), k), np.int64)
    tied = np.diff(starts) > 4 * k
    if tied.any():
        found[tied] = np.argsort(keys[tied], axis=1, kind="stable")[:, :k]
        if tied.all():
            return found
        near = near[~np.repeat(tied, np.diff(starts))]
        starts = np.searchsorted(near, np.arange(len(keys) + 1) * keys.shape[1])
    row, column = np.divmod(near, keys.shape[1])
    order = np.lexsort((column, keys[row, column], row))
    found[~tied] = column[order][starts[:-1][~tied, None] + np.arange(k)]
    return found
