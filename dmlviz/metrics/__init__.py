"""How good an embedding is: retrieval, clustering, classification, verification, the shape of the space.

NumPy or torch in, plain floats out; torch is never imported. An embedding with a NaN or an infinity scores NaN.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics import clustering as _clustering
from dmlviz.metrics import embedding_geometry, retrieval
from dmlviz.metrics import verification as _verification
from dmlviz.metrics.classification import nearest_class_mean
from dmlviz.metrics.inputs import LabeledEmbeddings, read_query_and_gallery
from dmlviz.metrics.per_query import PerQueryResult, evaluate_per_query
from dmlviz.ops.squared_distances import for_each_distance_chunk, rescale, single_threaded_blas

__all__ = ["PerQueryResult", "confusion", "evaluate", "evaluate_per_query", "nearest_mean_accuracy"]


PLUGGED: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {}
"""Metrics of plug-ins, by name: functions of embeddings (n × d, float) and class ids (n) that return a number."""


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
    and the judging of pairs (`verification=False`). Of normalized embeddings the ranking is that of the cosine.
    Raises UserError for input of a wrong shape.
    """
    if any(isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1 for k in ks):
        raise UserError(f"ks are whole numbers from 1; got {tuple(ks)!r}.")
    queries, others = read_query_and_gallery(embeddings, labels, gallery, gallery_labels)
    parts = partial(_parts, ks=ks, clustering=clustering, full_ranking=full_ranking, verification=verification)
    result = parts(queries, others)
    if len(unseen):
        for name, chosen in (("seen", False), ("unseen", True)):
            classes = np.flatnonzero(np.isin(queries.class_ids, list(unseen)) == chosen)
            group, group_gallery = (
                queries.select_classes(classes),
                None if others is None else others.select_classes(classes),
            )
            if len(classes) > 1 and len(group.points) and (group_gallery is None or len(group_gallery.points)):
                result |= {f"{name}/{key}": value for key, value in parts(group, group_gallery).items()}
    return result


def confusion(
    embeddings: Any, labels: Any, gallery: Any = None, gallery_labels: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Count, per class, the classes of the nearest neighbors: (class ids (c), counts (c × c, int64)).

    Row: the query's class, column: its nearest neighbor's. Queries without a relevant item are left out, and where
    an embedding is not finite nobody is counted.
    """
    queries, others = read_query_and_gallery(embeddings, labels, gallery, gallery_labels)
    counts = np.zeros((len(queries.class_ids), len(queries.class_ids)), np.int64)
    if queries.finite and (others is None or others.finite):
        with single_threaded_blas():
            used, _, nearest = retrieval.first_hits(queries, others)
        np.add.at(counts, (queries.classes[used], (others or queries).classes[nearest]), 1)
    return queries.class_ids, counts


def nearest_mean_accuracy(embeddings: Any, labels: Any, gallery: Any = None, gallery_labels: Any = None) -> float:
    """The share of queries whose nearest class mean (of the gallery) is that of their class.

    Against themselves a query takes no part in the mean of its own class.
    """
    queries, others = read_query_and_gallery(embeddings, labels, gallery, gallery_labels)
    if not (queries.finite and (others is None or others.finite)):
        return float("nan")
    points = rescale(queries.points, (others or queries).points)[:2]
    return nearest_class_mean(queries, others, *points, retrieval.Ranker(queries, others).queries)


def _parts(
    queries: LabeledEmbeddings,
    others: LabeledEmbeddings | None,
    ks: Sequence[int],
    clustering: bool,
    full_ranking: bool,
    verification: bool,
) -> dict[str, float]:
    if not (queries.finite and (others is None or others.finite)):
        keys = evaluate([[0.0]], [0], None, None, ks, clustering, full_ranking, verification)
        used = retrieval.Ranker(queries, others).queries
        return dict.fromkeys(keys, float("nan")) | _counted(queries, used)
    with single_threaded_blas():
        result = _scores(queries, others, ks, full_ranking)
        if clustering:
            result |= _clustering.scores(queries)
        if verification:
            result |= _verification.scores(queries)
    return result | _plugged(queries)


def _plugged(queries: LabeledEmbeddings) -> dict[str, float]:
    if len(queries.points) < 2:
        return dict.fromkeys(PLUGGED, float("nan"))
    labels = queries.class_ids[queries.classes]
    return {name: float(score(queries.points, labels)) for name, score in PLUGGED.items()}


def _scores(
    queries: LabeledEmbeddings, others: LabeledEmbeddings | None, ks: Sequence[int], full_ranking: bool
) -> dict[str, float]:
    ranker, distances = retrieval.Ranker(queries, others, full_ranking), embedding_geometry.DistanceMeans(queries)
    points, gallery_points, unit = rescale(queries.points, queries.points)
    kind = queries.points.dtype
    if others is None and len(ranker.queries) == len(points):

        def visit(rows: slice, squared: np.ndarray) -> None:
            distances.visit(rows, squared)
            ranker.visit(rows, squared)

        for_each_distance_chunk(points, points, kind, visit)
    else:
        for_each_distance_chunk(points, points, kind, distances.visit)
        if others is not None:
            points, gallery_points, _ = rescale(queries.points, others.points)
        for_each_distance_chunk(points[ranker.queries], gallery_points, kind, ranker.visit)
    result = retrieval.scores(ranker.ranking(), queries, others, ks)
    result["nearest_mean_accuracy"] = nearest_class_mean(queries, others, points, gallery_points, ranker.queries)
    result |= distances.scores(unit) | embedding_geometry.scores(queries.points, len(queries.class_ids))
    return result | _counted(queries, ranker.queries)


def _counted(queries: LabeledEmbeddings, used: np.ndarray) -> dict[str, float]:
    return {"queries": float(len(used)), "queries_left_out": float(len(queries.points) - len(used))}
