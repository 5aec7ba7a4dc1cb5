"""Retrieval metrics (P@1, recall@k, R-precision, MAP@R, MAP, MRR) from one ranking of the gallery per query."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from dmlviz.metrics.classification import majority_vote
from dmlviz.metrics.inputs import LabeledEmbeddings, class_and_camera
from dmlviz.ops.compiled import are_kept, compiled
from dmlviz.ops.pairwise_numpy import k_smallest
from dmlviz.ops.squared_distances import for_each_distance_chunk, rescale

NEIGHBORS = 5
_COMPILED_FROM = 30_000_000  # distances; below, importing Numba takes longer than it saves


@dataclass(frozen=True)
class RetrievalResult:
    """Retrieval results of the m queries that have a relevant item.

    Attributes:
        queries: Indices of the queries (m), ascending.
        relevant: Number R of relevant items (m).
        first_hit: Rank (from 1) of the nearest relevant item (m).
        hits_in_r: Number of relevant items among the first R (m).
        average_precision_at_r: AP@R of each query (m).
        average_precision: Average precision of each query (m); None unless the full ranking was requested.
        nearest: Gallery indices of the nearest items (m × 5; fewer columns where a query has fewer to search).
    """

    queries: np.ndarray
    relevant: np.ndarray
    first_hit: np.ndarray
    hits_in_r: np.ndarray
    average_precision_at_r: np.ndarray
    average_precision: np.ndarray | None
    nearest: np.ndarray


class Ranker:
    """Ranks the gallery for every query, chunk by chunk of the distance matrix.

    Distance and relevance are packed into one integer: the bits of a non-negative float sort as integers do, and the
    lowest bit holds the relevance. So one plain, fast sort ranks relevance, and among ties irrelevant items come first:
    a collapsed space scores 0 for any order of the images.

    If the images have cameras, those of the query's class and camera are not searched.
    """

    def __init__(self, queries: LabeledEmbeddings, gallery: LabeledEmbeddings | None, full: bool = False) -> None:
        self.itself, self.full = gallery is None, full
        small = np.min_scalar_type(max(len(queries.class_ids) - 1, 0))
        self.small_classes = queries.classes.astype(small)
        self.small_gallery = (gallery or queries).classes.astype(small)
        self.integer = np.dtype(f"i{queries.points.itemsize}")
        self.last = np.iinfo(self.integer).max - 1
        self.groups = None if queries.cameras is None else class_and_camera(queries, gallery or queries)
        excluded = np.full(len(queries.classes), int(self.itself))
        if self.groups is not None:
            excluded = np.bincount(self.groups[1], minlength=int(self.groups[0].max()) + 1)[self.groups[0]]
        relevant = (gallery or queries).counts[queries.classes] - excluded
        self.queries = np.flatnonzero(relevant > 0)
        if queries.rows is not None:
            self.queries = np.intersect1d(self.queries, queries.rows, assume_unique=True)
        self.relevant = relevant[self.queries]
        n, others = len(self.queries), len(self.small_gallery) - int(self.itself)
        least = len(self.small_gallery) - int(excluded[self.queries].max(initial=0))  # that a query has to search
        self.depth = min(others, max(int(self.relevant.max(initial=0)), NEIGHBORS))
        self.first_hit, self.hits_in_r = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.average_precision_at_r, self.average_precision = np.zeros(n), np.zeros(n)
        self.nearest = np.zeros((n, min(NEIGHBORS, max(others, 1), max(least, 1))), np.int64)
        is_large = full and n * len(self.small_gallery) >= _COMPILED_FROM
        self._kernels = compiled(load_kernels) if is_large and are_kept() else None

    def visit(self, rows: slice, squared: np.ndarray) -> None:
        """Rank the gallery for some queries.

        Args:
            rows: Slice of `self.queries`.
            squared: Their squared distances (rows × gallery).
        """
        keys = self.keys(rows, squared)
        if self._kernels is not None:
            results = (
                self.first_hit,
                self.hits_in_r,
                self.average_precision_at_r,
                self.average_precision,
                self.nearest,
            )
            self._kernels.rank_hits(keys, keys.view(squared.dtype), *(values[rows] for values in results))
            return
        if self.full:
            ranked = np.sort(keys, axis=1)
            self.average_precision[rows] = _precision_at_hits((ranked & 1).astype(bool)) / self.relevant[rows]
            head = ranked[:, : self.depth]
        else:
            head = np.partition(keys, self.depth - 1, axis=1)[:, : self.depth]
            head.sort(axis=1)
        hits, relevant = (head & 1).astype(bool), self.relevant[rows]
        within = hits & (np.arange(self.depth) < relevant[:, None])
        self.first_hit[rows] = ranks_of_first_hits(hits, keys)
        self.hits_in_r[rows] = np.count_nonzero(within, axis=1)
        self.average_precision_at_r[rows] = _precision_at_hits(within) / relevant
        k = self.nearest.shape[1]
        self.nearest[rows] = k_smallest(keys, k, limit=head[:, k - 1])

    def keys(self, rows: slice | np.ndarray, squared: np.ndarray) -> np.ndarray:
        """Return packed distance and relevance (rows × gallery); images that are not searched sort last."""
        keys: np.ndarray = np.bitwise_and(squared.view(self.integer), self.last)
        np.bitwise_or(keys, self.small_classes[self.queries[rows], None] == self.small_gallery, out=keys)
        if self.itself:
            keys[np.arange(len(keys)), self.queries[rows]] = self.last
        if self.groups is not None:
            keys[self.groups[0][self.queries[rows], None] == self.groups[1]] = self.last
        return keys

    def ranking(self) -> RetrievalResult:
        """Return the result, after every chunk was visited."""
        return RetrievalResult(
            self.queries,
            self.relevant,
            self.first_hit,
            self.hits_in_r,
            self.average_precision_at_r,
            self.average_precision if self.full else None,
            self.nearest,
        )


def load_kernels() -> ModuleType:
    """Import the kernels: for `compiled`."""
    from dmlviz.metrics import ranking_kernels

    return ranking_kernels


def rank_gallery(
    queries: LabeledEmbeddings, gallery: LabeledEmbeddings | None = None, full: bool = False
) -> RetrievalResult:
    """Rank the gallery for each query by Euclidean distance; without a gallery, all other queries."""
    ranker = Ranker(queries, gallery, full)
    points, others, _ = rescale(queries.points, queries.points if gallery is None else gallery.points)
    for_each_distance_chunk(points[ranker.queries], others, queries.points.dtype, ranker.visit)
    return ranker.ranking()


def scores(
    ranking: RetrievalResult, queries: LabeledEmbeddings, gallery: LabeledEmbeddings | None, ks: Sequence[int]
) -> dict[str, float]:
    """Return the mean scores over all queries with a relevant item; NaN without any.

    `cmc_at_k` equals `recall_at_k`, as metric learning defines it: the share of queries with a hit among the first k.

    Recall@1% is recall@k with k = 1% of the images searched, rounded up.

    Reference:
        Musgrave, Belongie, Lim 2020 (R-precision and MAP@R); Vo and Hays 2016 (recall@1%).
    """
    first = ranking.first_hit
    result = {"precision_at_1": mean(first == 1)}
    result |= {f"recall_at_{k}": mean(first <= k) for k in ks}
    searched = len((gallery or queries).points) - int(gallery is None)
    result |= {
        "recall_at_1_percent": mean(first <= -(-searched // 100)),
        "r_precision": mean(ranking.hits_in_r / ranking.relevant),
        "map_at_r": mean(ranking.average_precision_at_r),
        "mrr": mean(1 / first),
    }
    own = queries.classes[ranking.queries]
    result["macro_precision_at_1"] = mean_of_classes(first == 1, own)
    result["macro_map_at_r"] = mean_of_classes(ranking.average_precision_at_r, own)
    if ranking.average_precision is not None:
        result["map"] = mean(ranking.average_precision)
    result |= {f"cmc_at_{k}": result[f"recall_at_{k}"] for k in ks}
    voted = majority_vote((gallery or queries).classes[ranking.nearest])
    result["knn_accuracy"] = mean(voted == queries.classes[ranking.queries])
    return result


def mean(values: np.ndarray) -> float:
    """Return the mean; NaN if empty."""
    return float(np.mean(values)) if len(values) else float("nan")


def mean_of_classes(values: np.ndarray, classes: np.ndarray) -> float:
    """Return the mean over classes of the mean of each (values and class numbers, n); NaN if empty."""
    counts = np.bincount(classes)
    return mean(np.bincount(classes, values)[counts > 0] / counts[counts > 0])


def ranks_of_first_hits(hits: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the rank (from 1) of the first hit of each row.

    Args:
        hits: Whether each of the nearest items is a hit, nearest first (m × depth).
        keys: The keys of all items (m × n), for rows without a hit among the nearest.
    """
    first: np.ndarray = hits.argmax(axis=1) + 1
    without_hit = ~hits.any(axis=1)
    if without_hit.any():
        keys = keys[without_hit]
        nearest_relevant = np.where(keys & 1, keys, np.iinfo(keys.dtype).max).min(axis=1)
        first[without_hit] = np.count_nonzero(keys < nearest_relevant[:, None], axis=1) + 1
    return first


def _precision_at_hits(hits: np.ndarray) -> np.ndarray:
    """Return, for each row, the sum of the precisions at the ranks of its hits."""
    counts = np.count_nonzero(hits, axis=1)
    starts, has_hit = np.cumsum(counts) - counts, counts > 0
    rank_from_0 = np.flatnonzero(hits) - np.repeat(np.arange(len(hits)) * hits.shape[1], counts)
    nth_hit = np.arange(1, len(rank_from_0) + 1) - np.repeat(starts, counts)
    sums = np.zeros(len(hits))
    if has_hit.any():
        sums[has_hit] = np.add.reduceat(nth_hit / (rank_from_0 + 1), starts[has_hit])
    return sums
