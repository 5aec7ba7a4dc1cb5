"""Metrics of labeled embeddings: retrieval, clustering, classification, verification, and embedding geometry.

Inputs are NumPy arrays or torch tensors, results plain floats; torch is never imported. If any embedding is NaN or
infinite, every score is NaN.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics import clustering as _clustering
from dmlviz.metrics import embedding_geometry, retrieval
from dmlviz.metrics import first_hits as _first_hits
from dmlviz.metrics import verification as _verification
from dmlviz.metrics.classification import nearest_class_mean
from dmlviz.metrics.inputs import LabeledEmbeddings, read_query_and_gallery
from dmlviz.metrics.multi_query import pooled_queries
from dmlviz.metrics.per_query import PerQueryResult, evaluate_per_query
from dmlviz.metrics.reranking import reranked
from dmlviz.ops.squared_distances import for_each_distance_chunk, rescale, single_threaded_blas
from dmlviz.ops.stopping import stop_check

__all__ = [
    "PerQueryResult",
    "confusion",
    "evaluate",
    "evaluate_per_query",
    "nearest_mean_accuracy",
    "pooled_queries",
    "reranked",
]


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
    *,
    cameras: Any = None,
    gallery_cameras: Any = None,
    rows: Any = None,
) -> dict[str, float]:
    """Compute all metrics of embeddings by Euclidean distance, against themselves or against a gallery.

    Against themselves, a query is excluded by its index. Queries without a relevant item are excluded from every mean
    and counted in `queries_left_out`. So are embeddings without a label (None, NaN, NaT, NA), which nothing finds
    either. For normalized embeddings the ranking equals that of the cosine.

    With cameras, retrieval and classification follow the rule of Market-1501: a gallery image of the query's own class
    and camera is left out, as if it were not in the gallery. Clusters, pairs and geometry are those of all queries.

    Args:
        embeddings: Queries, n × d.
        labels: Their class ids, n.
        gallery: Embeddings to search, m × d; the queries themselves by default.
        gallery_labels: Their class ids, m.
        ks: The k of recall@k and CMC@k.
        clustering: Compute the k-means metrics.
        full_ranking: Compute MAP over the full ranking.
        verification: Compute the pair verification metrics.
        unseen: Class ids held out of training; adds scores of seen and unseen classes, `seen/…` and `unseen/…`.
        cameras: Camera ids of the queries, n.
        gallery_cameras: Camera ids of the gallery, m; with a gallery, both or neither.
        rows: Indices of the queries to score, for an estimate in less time; all by default. They search everything
            that all would; clusters are theirs alone.

    Returns:
        Values by metric name; `queries` says how many were scored.

    Raises:
        UserError: For input of a wrong shape.

    Reference:
        Zheng et al. 2015 (Market-1501: same-camera matches, CMC and mAP).

    Examples:
        >>> scores = evaluate([[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1], ks=(1,))
        >>> scores["precision_at_1"], scores["map_at_r"]
        (1.0, 1.0)
    """
    if any(isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1 for k in ks):
        raise UserError(f"ks are whole numbers from 1; got {tuple(ks)!r}.")
    queries, others = read_query_and_gallery(embeddings, labels, gallery, gallery_labels, cameras, gallery_cameras)
    if rows is not None:
        queries = queries.of_rows(rows)
    parts = partial(_parts, ks=ks, clustering=clustering, full_ranking=full_ranking, verification=verification)
    result = parts(queries, others)
    if len(unseen):
        for name, is_unseen in (("seen", False), ("unseen", True)):
            classes = np.flatnonzero(np.isin(queries.class_ids, list(unseen)) == is_unseen)
            group = queries.select_classes(classes)
            group_gallery = None if others is None else others.select_classes(classes)
            if len(classes) > 1 and len(group.scored_rows) and (group_gallery is None or len(group_gallery.points)):
                result |= {f"{name}/{key}": value for key, value in parts(group, group_gallery).items()}
    return result


def confusion(
    embeddings: Any,
    labels: Any,
    gallery: Any = None,
    gallery_labels: Any = None,
    *,
    cameras: Any = None,
    gallery_cameras: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the confusion matrix of the nearest neighbor.

    Queries without a relevant item are excluded; if any embedding is not finite, all counts are 0.

    Args:
        embeddings: Queries, n × d.
        labels: Their class ids, n.
        gallery: Embeddings to search, m × d; the queries themselves by default.
        gallery_labels: Their class ids, m.
        cameras: Camera ids of the queries, n; same-camera matches are left out as in `evaluate`.
        gallery_cameras: Camera ids of the gallery, m.

    Returns:
        Class ids (c), and counts (c × c, int64): rows are the query's class, columns its nearest neighbor's.

    Raises:
        UserError: For input of a wrong shape.

    Examples:
        >>> names, counts = confusion([[0.0], [0.1], [1.0], [1.1], [0.3]], [3, 3, 7, 7, 7])
        >>> counts.tolist()  # one 7 lies among the 3s
        [[2, 0], [1, 2]]
    """
    queries, others = read_query_and_gallery(embeddings, labels, gallery, gallery_labels, cameras, gallery_cameras)
    counts = np.zeros((len(queries.class_ids), len(queries.class_ids)), np.int64)
    if queries.finite and (others is None or others.finite):
        with single_threaded_blas():
            hits = _first_hits.first_hits(queries, others)
        np.add.at(counts, (queries.classes[hits.queries], hits.nearest_class), 1)
    return queries.class_ids, counts


def nearest_mean_accuracy(embeddings: Any, labels: Any, gallery: Any = None, gallery_labels: Any = None) -> float:
    """Return the accuracy of nearest-class-mean classification.

    Args:
        embeddings: Queries (n × d).
        labels: Their classes (n).
        gallery: Embeddings whose means are taken (m × d); by default the queries, without the query itself.
        gallery_labels: Their classes (m).

    Reference:
        Mensink, Verbeek, Perronnin, Csurka: Distance-based image classification, TPAMI 2013.

    Examples:
        >>> nearest_mean_accuracy([[0.0], [1.0], [8.0], [9.0], [4.0]], [0, 0, 1, 1, 1])
        0.8
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
        return dict.fromkeys(keys, float("nan")) | _query_counts(queries, used)
    check = stop_check()
    with single_threaded_blas():
        result = _scores(queries, others, ks, full_ranking)
        check()
        if clustering:
            result |= _clustering.scores(queries.scored)
        check()
        if verification:
            result |= _verification.scores(queries)
    return result | _plugged(queries)


def _plugged(queries: LabeledEmbeddings) -> dict[str, float]:
    if len(queries.points) < 2:
        return dict.fromkeys(PLUGGED, float("nan"))
    ids = queries.class_ids
    labels = queries.classes if ids.dtype == object else ids[queries.classes]
    return {name: float(score(queries.points, labels)) for name, score in PLUGGED.items()}


def _scores(
    queries: LabeledEmbeddings, others: LabeledEmbeddings | None, ks: Sequence[int], full_ranking: bool
) -> dict[str, float]:
    ranker, distances = retrieval.Ranker(queries, others, full_ranking), embedding_geometry.DistanceMeans(queries)
    points, gallery_points, unit = rescale(queries.points, queries.points)
    kind = queries.points.dtype
    if others is None and len(ranker.queries) == len(distances.rows):

        def visit(rows: slice, squared: np.ndarray) -> None:
            distances.visit(rows, squared)
            ranker.visit(rows, squared)

        for_each_distance_chunk(points[distances.rows], points, kind, visit)
    else:
        for_each_distance_chunk(points[distances.rows], points, kind, distances.visit)
        if others is not None:
            points, gallery_points, _ = rescale(queries.points, others.points)
        for_each_distance_chunk(points[ranker.queries], gallery_points, kind, ranker.visit)
    result = retrieval.scores(ranker.ranking(), queries, others, ks)
    result["nearest_mean_accuracy"] = nearest_class_mean(queries, others, points, gallery_points, ranker.queries)
    result |= distances.scores(unit) | embedding_geometry.scores(queries.points, len(queries.class_ids))
    return result | _query_counts(queries, ranker.queries)


def _query_counts(queries: LabeledEmbeddings, used: np.ndarray) -> dict[str, float]:
    given = queries.scored_rows if queries.labeled is None else queries.labeled
    return {"queries": float(len(used)), "queries_left_out": float(len(given) - len(used))}


def __dir__() -> list[str]:
    return [*__all__]
