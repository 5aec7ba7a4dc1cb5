"""Rankings corrected by reciprocal neighbors: who is near to a query whose neighbors are near to it, too."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics import retrieval
from dmlviz.metrics.inputs import read_query_and_gallery
from dmlviz.ops.squared_distances import (
    SquaredDistances,
    for_each_chunk,
    for_each_distance_chunk,
    rescale,
    single_threaded_blas,
    squared_differences,
)
from dmlviz.ops.stopping import stop_check

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def reranked(
    embeddings: Any,
    labels: Any,
    gallery: Any = None,
    gallery_labels: Any = None,
    ks: Sequence[int] = (1, 5, 10),
    *,
    cameras: Any = None,
    gallery_cameras: Any = None,
    k1: int = 20,
    k2: int = 6,
    balance: float = 0.3,
) -> dict[str, float]:
    """Compute the retrieval metrics of `evaluate` after k-reciprocal re-ranking.

    The distance of two images becomes λ d² + (1 − λ) of the Jaccard distance of their reciprocal neighbors: those among
    the k1 nearest that have the image among theirs, with what these share with it, weighted by e^{−d²}. Here d² is
    divided by the greatest of its row, and each set is the mean of those of the k2 nearest images.

    Args:
        embeddings: Queries, n × d.
        labels: Their class ids, n.
        gallery: Embeddings to search, m × d; the queries themselves by default. Sets are found among both.
        gallery_labels: Their class ids, m.
        ks: The k of recall@k and CMC@k.
        cameras: Camera ids of the queries, n, as `evaluate` takes them.
        gallery_cameras: Camera ids of the gallery, m.
        k1: Neighbors that may be reciprocal.
        k2: Neighbors over which sets are averaged; 1 for none.
        balance: λ, the share of the old distance.

    Returns:
        Values by metric name.

    Raises:
        UserError: For input of a wrong shape, k1 or k2 below 1, or λ outside of 0 to 1.

    Reference:
        Zhong, Zheng, Cao, Li 2017: Re-ranking person re-identification with k-reciprocal encoding, CVPR.

    Examples:
        >>> reranked([[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1], k1=1, k2=1)["precision_at_1"]
        1.0
    """
    if k1 < 1 or k2 < 1 or not 0 <= balance <= 1:
        raise UserError(f"Re-ranking takes k1 and k2 from 1 and λ from 0 to 1; got {k1}, {k2} and {balance:g}.")
    queries, others = read_query_and_gallery(embeddings, labels, gallery, gallery_labels, cameras, gallery_cameras)
    ranker = retrieval.Ranker(queries, others)
    if not (queries.finite and (others is None or others.finite)) or not len(ranker.queries):
        with np.errstate(divide="ignore"):
            return dict.fromkeys(retrieval.scores(ranker.ranking(), queries, others, ks), float("nan"))
    points = queries.points if others is None else np.concatenate([queries.points, others.points])
    first = 0 if others is None else len(queries.points)
    points = rescale(points, points)[0]
    kind = queries.points.dtype
    with single_threaded_blas():
        sets, greatest = _reciprocal_sets(points, kind, k1, k2)
        old, columns, check = SquaredDistances(points[ranker.queries], points, kind), sets.tocsc(), stop_check()

        def visit(rows: slice) -> None:
            check()
            images = ranker.queries[rows]
            new = balance * old.of(rows) / greatest[images, None]
            for row, image in zip(new, images, strict=True):
                row += (1 - balance) * (1 - _overlap(sets, columns, image))
            ranker.visit(rows, np.ascontiguousarray(new[:, first:].clip(0, None), dtype=kind))

        for_each_chunk(len(ranker.queries), len(points), visit)
    return retrieval.scores(ranker.ranking(), queries, others, ks)


def _reciprocal_sets(points: np.ndarray, kind: np.dtype, k1: int, k2: int) -> tuple["csr_matrix", np.ndarray]:
    """Return the weights of each image's set (n × n, rows sum to 1), and its greatest squared distance (n)."""
    from scipy.sparse import csr_matrix

    n = len(points)
    most = min(max(k1 + 1, k2), n)
    nearest, greatest = np.zeros((n, most), np.int64), np.ones(n)

    def visit(rows: slice, squared: np.ndarray) -> None:
        greatest[rows] = squared.max(axis=1)
        squared[np.arange(len(squared)), np.arange(n)[rows]] = -1  # itself comes first among equal ones
        near = np.sort(np.argpartition(squared, most - 1, axis=1)[:, :most], axis=1)
        order = np.argsort(np.take_along_axis(squared, near, axis=1), axis=1, kind="stable")
        nearest[rows] = np.take_along_axis(near, order, axis=1)

    for_each_distance_chunk(points, points, kind, visit)
    greatest[greatest <= 0] = 1

    def of_nearest(k: int) -> "csr_matrix":
        k = min(k, n)
        return csr_matrix((np.ones(n * k), nearest[:, :k].ravel(), np.arange(n + 1) * k), shape=(n, n))

    def mutual(k: int) -> "csr_matrix":
        return of_nearest(k).multiply(of_nearest(k).T).tocsr()

    wide, narrow = mutual(k1 + 1), mutual(round(k1 / 2) + 1)
    shared = (wide @ narrow.T).multiply(wide).tocoo()  # of image i and a neighbor j in its set: |R(i) ∩ R½(j)|
    joined = shared.data > 2 / 3 * np.asarray(narrow.sum(axis=1)).ravel()[shared.col]
    grown = csr_matrix((np.ones(joined.sum()), (shared.row[joined], shared.col[joined])), shape=(n, n)) @ narrow + wide
    pairs = grown.tocoo()
    apart = np.concatenate(
        [
            squared_differences(points, points, i, j)
            for i, j in zip(np.array_split(pairs.row, 100), np.array_split(pairs.col, 100), strict=True)
        ]
    )
    weights = csr_matrix((np.exp(-apart / greatest[pairs.row]), (pairs.row, pairs.col)), shape=(n, n))
    weights.data /= np.repeat(np.asarray(weights.sum(axis=1)).ravel(), np.diff(weights.indptr))
    return (of_nearest(k2) @ weights / min(k2, n)).tocsr(), greatest


def _overlap(sets: "csr_matrix", columns: Any, image: int) -> np.ndarray:
    """Return the overlap of an image's set with all sets (n): Σ min / Σ max of their weights."""
    own = slice(sets.indptr[image], sets.indptr[image + 1])
    starts, counts = columns.indptr[sets.indices[own]], np.diff(columns.indptr)[sets.indices[own]]
    places = np.arange(counts.sum()) + np.repeat(starts - (counts.cumsum() - counts), counts)
    least = np.minimum(columns.data[places], np.repeat(sets.data[own], counts))
    smaller = np.bincount(columns.indices[places], weights=least, minlength=sets.shape[0])
    overlap: np.ndarray = smaller / (2 - smaller)
    return overlap
