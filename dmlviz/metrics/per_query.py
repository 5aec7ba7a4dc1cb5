"""Retrieval scores of every single query, before averaging."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics import retrieval
from dmlviz.metrics.classification import majority_vote
from dmlviz.metrics.inputs import LabeledEmbeddings, read
from dmlviz.ops.squared_distances import single_threaded_blas


@dataclass(frozen=True)
class PerQueryResult:
    """Scores of the m queries that have a relevant image; every attribute has m entries.

    Attributes:
        queries: Indices of the queries, ascending.
        nearest: Index of the nearest neighbor.
        first_hit: Rank (from 1) of the nearest image of the same class.
        vote: Class id predicted by the majority of the 5 nearest neighbors.
        r_precision: R-precision.
        average_precision_at_r: Average precision at R.
    """

    queries: np.ndarray
    nearest: np.ndarray
    first_hit: np.ndarray
    vote: np.ndarray
    r_precision: np.ndarray
    average_precision_at_r: np.ndarray


def evaluate_per_query(embeddings: Any, labels: Any, near: bool = False) -> PerQueryResult:
    """Score each embedding that has a label as a query against all others that have one, by Euclidean distance.

    Args:
        embeddings: Embeddings (n × d), finite.
        labels: Class IDs (n).
        near: Look at the 5 nearest neighbors only, which are found much sooner among very many: a first hit behind
            them has rank 6, and the scores at R are NaN.

    Returns:
        Scores whose means are the metrics of `evaluate`.

    Raises:
        UserError: For a wrong shape, or embeddings that are not finite.

    Reference:
        Musgrave, Belongie, Lim: A metric learning reality check, ECCV 2020 (R-precision, average precision at R).

    Examples:
        >>> evaluate_per_query([[0.0], [1.0], [1.5], [9.0]], [0, 0, 1, 1]).first_hit
        array([1, 2, 3, 1])
    """
    points = read(embeddings, labels)
    if not points.finite:
        raise UserError("Scores need finite embeddings; got NaN or infinity: the training diverged.")
    with single_threaded_blas():
        ranking = _rank_nearest(points) if near else retrieval.rank_gallery(points)
    rows = np.arange(len(points.points)) if points.labeled is None else np.flatnonzero(points.labeled)
    return PerQueryResult(
        rows[ranking.queries],
        rows[ranking.nearest[:, 0]],
        ranking.first_hit,
        points.class_ids[majority_vote(points.classes[ranking.nearest])],
        ranking.hits_in_r / ranking.relevant,
        ranking.average_precision_at_r,
    )


def _rank_nearest(points: LabeledEmbeddings) -> retrieval.RetrievalResult:
    """Rank only the 5 nearest of each query; where distances are equal up to rounding, as `rank_gallery` does."""
    from dmlviz.ops.nearest_neighbors import NearestNeighbors  # FAISS: here, as in clustering

    ranking = retrieval.Ranker(points, None).ranking()
    queries, k = ranking.queries, ranking.nearest.shape[1]
    distances, nearest = (found[queries] for found in NearestNeighbors(points.points).others(k + 1))
    ranking.nearest[:] = nearest[:, :k]
    is_hit = points.classes[ranking.nearest] == points.classes[queries, None]
    ranking.first_hit[:] = np.where(is_hit.any(axis=1), is_hit.argmax(axis=1) + 1, k + 1)
    tied = (np.diff(distances, axis=1) <= 1e-6 * distances[:, 1:]).any(axis=1)
    if tied.any():
        exact = retrieval.rank_gallery(replace(points, rows=queries[tied]))
        ranking.nearest[tied], ranking.first_hit[tied] = exact.nearest, np.minimum(exact.first_hit, k + 1)
    unknown = np.full(len(queries), np.nan)
    return replace(ranking, hits_in_r=unknown, average_precision_at_r=unknown)
