"""How good an embedding is: retrieval, clustering, classification, verification, the shape of the space.

NumPy or torch in, plain floats out; torch is never imported. An embedding with a NaN or an infinity scores NaN.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics import clustering as _clustering
from dmlviz.metrics import retrieval, space
from dmlviz.metrics import verification as _verification
from dmlviz.metrics.classification import nearest_mean
from dmlviz.metrics.distances import blas_on_one_thread, conditioned, sweep
from dmlviz.metrics.inputs import Embedded, read_both
from dmlviz.metrics.judgement import Judgement, judge

__all__ = ["Judgement", "confusion", "evaluate", "judge", "nearest_mean_accuracy"]


def evaluate(
    embeddings: Any,
    labels: Any,
    gallery: Any = None,
    gallery_labels: Any = None,
    ks: Sequence[int] = (1, 5, 10),
    clustering: bool = True,
    full_ranking: bool = True,
    verification: bool = True,
    unseen: Sequence[int] = (),
) -> dict[str, float]:
    """Score embeddings (n × d) with class ids (n) by Euclidean distance, against themselves or against a gallery.

    Against themselves each query is left out by its index. Queries without a relevant item are left out of every mean
    and counted in `queries_left_out`. A live view skips k-means (`clustering=False`), `map` (`full_ranking=False`)
    and the judging of pairs (`verification=False`). Of normalised embeddings the ranking is that of the cosine.
    Raises UserError for input of a wrong shape.
    """
    if any(isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1 for k in ks):
        raise UserError(f"ks are whole numbers from 1; got {tuple(ks)!r}.")
    queries, others = read_both(embeddings, labels, gallery, gallery_labels)
    parts = partial(_parts, ks=ks, clustering=clustering, full_ranking=full_ranking, verification=verification)
    result = parts(queries, others)
    if len(unseen):
        for name, chosen in (("seen", False), ("unseen", True)):
            classes = np.flatnonzero(np.isin(queries.names, list(unseen)) == chosen)
            group, group_gallery = queries.of(classes), None if others is None else others.of(classes)
            if len(classes) > 1 and len(group.points) and (group_gallery is None or len(group_gallery.points)):
                result |= {f"{name}/{key}": value for key, value in parts(group, group_gallery).items()}
    return result


def confusion(
    embeddings: Any, labels: Any, gallery: Any = None, gallery_labels: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Count, per class, the classes of the nearest neighbours: (class ids (c), counts (c × c, int64)).

    Row: the query's class, column: its nearest neighbour's. Queries without a relevant item are left out, and where
    an embedding is not finite nobody is counted.
    """
    queries, others = read_both(embeddings, labels, gallery, gallery_labels)
    counts = np.zeros((len(queries.names), len(queries.names)), np.int64)
    if queries.finite and (others is None or others.finite):
        with blas_on_one_thread():
            used, _, nearest = retrieval.first_hits(queries, others)
        np.add.at(counts, (queries.classes[used], (others or queries).classes[nearest]), 1)
    return queries.names, counts


def nearest_mean_accuracy(embeddings: Any, labels: Any, gallery: Any = None, gallery_labels: Any = None) -> float:
    """The share of queries whose nearest class mean (of the gallery) is that of their class.

    Against themselves a query takes no part in the mean of its own class.
    """
    queries, others = read_both(embeddings, labels, gallery, gallery_labels)
    if not (queries.finite and (others is None or others.finite)):
        return float("nan")
    points = conditioned(queries.points, (others or queries).points)[:2]
    return nearest_mean(queries, others, *points, retrieval.Ranker(queries, others).queries)


def _parts(
    queries: Embedded,
    others: Embedded | None,
    ks: Sequence[int],
    clustering: bool,
    full_ranking: bool,
    verification: bool,
) -> dict[str, float]:
    if not (queries.finite and (others is None or others.finite)):
        keys = evaluate([[0.0]], [0], None, None, ks, clustering, full_ranking, verification)
        used = retrieval.Ranker(queries, others).queries
        return dict.fromkeys(keys, float("nan")) | _counted(queries, used)
    with blas_on_one_thread():
        result = _scores(queries, others, ks, full_ranking)
        if clustering:
            result |= _clustering.scores(queries)
        if verification:
            result |= _verification.scores(queries)
    return result


def _scores(queries: Embedded, others: Embedded | None, ks: Sequence[int], full_ranking: bool) -> dict[str, float]:
    ranker, distances = retrieval.Ranker(queries, others, full_ranking), space.MeanDistances(queries)
    points, gallery_points, unit = conditioned(queries.points, queries.points)
    kind = queries.points.dtype
    if others is None and len(ranker.queries) == len(points):

        def visit(rows: slice, squared: np.ndarray) -> None:
            distances.visit(rows, squared)
            ranker.visit(rows, squared)

        sweep(points, points, kind, visit)
    else:
        sweep(points, points, kind, distances.visit)
        if others is not None:
            points, gallery_points, _ = conditioned(queries.points, others.points)
        sweep(points[ranker.queries], gallery_points, kind, ranker.visit)
    result = retrieval.scores(ranker.ranking(), queries, others, ks)
    result["nearest_mean_accuracy"] = nearest_mean(queries, others, points, gallery_points, ranker.queries)
    result |= distances.scores(unit) | space.scores(queries.points, len(queries.names))
    return result | _counted(queries, ranker.queries)


def _counted(queries: Embedded, used: np.ndarray) -> dict[str, float]:
    return {"queries": float(len(used)), "queries_left_out": float(len(queries.points) - len(used))}
