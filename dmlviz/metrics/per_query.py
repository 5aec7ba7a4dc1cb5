"""Retrieval scores of every single query, before averaging."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics import retrieval
from dmlviz.metrics.classification import majority_vote
from dmlviz.metrics.inputs import read
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


def evaluate_per_query(embeddings: Any, labels: Any) -> PerQueryResult:
    """Score each embedding that has a label as a query against all others that have one, by Euclidean distance.

    Args:
        embeddings: Embeddings (n × d), finite.
        labels: Class IDs (n).

    Returns:
        Scores whose means are the metrics of `evaluate`.

    Raises:
        UserError: For a wrong shape, or embeddings that are not finite.
    """
    points = read(embeddings, labels)
    if not points.finite:
        raise UserError("Scores need finite embeddings; got NaN or infinity: the training diverged.")
    with single_threaded_blas():
        ranking = retrieval.rank_gallery(points)
    rows = np.arange(len(points.points)) if points.labeled is None else np.flatnonzero(points.labeled)
    return PerQueryResult(
        rows[ranking.queries],
        rows[ranking.nearest[:, 0]],
        ranking.first_hit,
        points.class_ids[majority_vote(points.classes[ranking.nearest])],
        ranking.hits_in_r / ranking.relevant,
        ranking.average_precision_at_r,
    )
