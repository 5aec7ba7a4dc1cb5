"""The rank of each query's first hit and the class of its nearest image, for recall@k and the confusion matrix.

Distances in single precision settle nearly all queries: no other distance is as near to the one that decides as both
may be wrong. The rest are ranked by exact distances, so that the result is that of `rank_gallery`.
"""

from dataclasses import dataclass

import numpy as np

from dmlviz.metrics.inputs import LabeledEmbeddings
from dmlviz.metrics.retrieval import Ranker, ranks_of_first_hits
from dmlviz.ops.pairwise_numpy import RoughDistances
from dmlviz.ops.squared_distances import SquaredDistances, for_each_chunk, rescale

_BLOCK_ROWS = 64  # of exact distances


@dataclass(frozen=True)
class FirstHits:
    """First hits of the m queries that have a relevant item.

    Attributes:
        queries: Indices of the queries (m), ascending.
        rank: Rank (from 1) of the nearest relevant item (m).
        nearest_class: Class of the nearest item (m).
    """

    queries: np.ndarray
    rank: np.ndarray
    nearest_class: np.ndarray


def first_hits(queries: LabeledEmbeddings, gallery: LabeledEmbeddings | None = None) -> FirstHits:
    """Return what `rank_gallery` says of first hits and nearest items, in a fifth of its time."""
    ranker, searched = Ranker(queries, gallery), gallery or queries
    points, others, _ = rescale(queries.points, queries.points if gallery is None else gallery.points)
    points = points[ranker.queries]
    hits = FirstHits(ranker.queries, np.zeros(len(points), np.int64), searched.classes[np.zeros(len(points), np.int64)])
    if not len(points):
        return hits
    is_settled = np.zeros(len(points), bool)
    if queries.cameras is None:
        _settle_clear_ones(hits, is_settled, ranker, queries, searched, points, others)
    rest = np.flatnonzero(~is_settled)
    if len(rest):
        distances = SquaredDistances(points, others, queries.points.dtype)

        def visit(chunk: slice) -> None:
            rows = rest[chunk]
            keys = ranker.keys(rows, distances.of(rows))
            depth = ranker.nearest.shape[1]
            is_match = (np.sort(np.partition(keys, depth - 1, axis=1)[:, :depth], axis=1) & 1).astype(bool)
            hits.rank[rows] = ranks_of_first_hits(is_match, keys)
            hits.nearest_class[rows] = searched.classes[keys.argmin(axis=1)]

        for_each_chunk(len(rest), len(others), visit)
    return hits


def _settle_clear_ones(
    hits: FirstHits,
    is_settled: np.ndarray,
    ranker: Ranker,
    queries: LabeledEmbeddings,
    searched: LabeledEmbeddings,
    points: np.ndarray,
    others: np.ndarray,
) -> None:
    """Fill in the queries where the error of rough distances cannot matter; by class, so that relevant items adjoin."""
    by_class, columns = (
        np.argsort(queries.classes[hits.queries], kind="stable"),
        np.argsort(searched.classes, kind="stable"),
    )
    classes, column_classes = queries.classes[hits.queries][by_class], searched.classes[columns]
    begin, end = (np.searchsorted(column_classes, classes, side=side) for side in ("left", "right"))
    itself = np.argsort(columns)[hits.queries[by_class]] if ranker.itself else None
    distances = RoughDistances(points[by_class], others[columns])
    margins = (2 * distances.error).astype(np.float32)

    def visit(rows: slice) -> None:
        squared, margin = distances.of(rows), margins[rows]
        if itself is not None:
            squared[np.arange(len(squared)), itself[rows]] = np.inf
        relevant = np.full((len(squared), int(end[rows][-1] - begin[rows][0])), np.inf, np.float32)
        block = slice(int(begin[rows][0]), int(end[rows][-1]))
        np.copyto(relevant, squared[:, block], where=classes[rows, None] == column_classes[block])
        nearest_relevant = relevant.min(axis=1)
        before = _count(squared, nearest_relevant + margin) - _count(relevant, nearest_relevant + margin)
        clear = before == 0
        nearest_class = classes[rows].copy()
        # If an irrelevant item may come first, all of them have to be clearly nearer, and one of them nearest.
        some = np.flatnonzero(~clear)
        if len(some):
            squared, margin = squared[some], margin[some]
            nearest = squared.argmin(axis=1)
            nearest_class[some] = column_classes[nearest]
            clear[some] = _count(squared, nearest_relevant[some] - margin) == before[some]
            clear[some] &= _count(squared, squared[np.arange(len(some)), nearest] + margin) == 1
        settled = by_class[rows][clear]
        hits.rank[settled], hits.nearest_class[settled] = before[clear] + 1, nearest_class[clear]
        is_settled[settled] = True

    for_each_chunk(len(points), len(others), visit)


def _count(squared: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return how many values of each row are up to its limit; row by row, which NumPy counts six times as fast."""
    within = squared <= limits[:, None]
    return np.fromiter((np.count_nonzero(row) for row in within), np.int64, len(within))
