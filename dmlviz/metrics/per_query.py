"""The retrieval scores before they are averaged: what each image contributes."""

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
    """One row for each image that has a relevant one (`queries`, indices in order; m of them).

    `nearest` is its nearest neighbor (index), `first_hit` the rank of the first of its class (from 1), `vote` the
    class that its 5 nearest neighbors name, as kNN accuracy counts it; `r_precision` and `average_precision_at_r` are
    what the means of that name are made of.
    """

    queries: np.ndarray
    nearest: np.ndarray
    first_hit: np.ndarray
    vote: np.ndarray
    r_precision: np.ndarray
    average_precision_at_r: np.ndarray


def evaluate_per_query(embeddings: Any, labels: Any) -> PerQueryResult:
    """Judge each of the embeddings (n × d, with class ids n) among the others, by Euclidean distance.

    The means are those of `evaluate`. Raises UserError for a wrong shape, or embeddings that are not finite.
    """
    points = read(embeddings, labels)
    if not points.finite:
        raise UserError("Images are judged by finite embeddings; got NaN or infinity: the training diverged.")
    with single_threaded_blas():
        ranking = retrieval.rank_gallery(points)
    return PerQueryResult(
        ranking.queries,
        ranking.nearest[:, 0],
        ranking.first_hit,
        points.class_ids[majority_vote(points.classes[ranking.nearest])],
        ranking.hits_in_r / ranking.relevant,
        ranking.average_precision_at_r,
    )
