"""The curves behind the scores: recall@k, ROC, precision over recall, distances. By the conventions of `evaluate`."""

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics import retrieval
from dmlviz.metrics.distances import blas_on_one_thread, conditioned, sweep
from dmlviz.metrics.inputs import Embedded, read
from dmlviz.metrics.verification import MOST_PAIRS, area, operating_points, pair_distances

MOST_RANKS = 100
BINS = 80
_FINE = 4096  # bins that are counted, before they are put together to at most BINS
_ROWS = 1000

Pair = tuple[int, int]


@dataclass(frozen=True)
class RecallAtK:
    """`recall[k - 1]` is the share of `queries` with an image of their class among the k nearest: recall@k, or CMC.

    `left_out` counts images that are alone in their class and so are no queries.
    """

    recall: np.ndarray
    queries: int
    left_out: int

    @property
    def ks(self) -> np.ndarray:
        """1, 2, 3 …"""
        return np.arange(1, len(self.recall) + 1)


@dataclass(frozen=True)
class Roc:
    """False positive rate and recall at each threshold (a distance up to which two images are called the same).

    `area` is the score `roc_auc`; `pairs` counts the judged pairs of each kind, of `of` that there are of one class
    and of two.
    """

    false_positives: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray
    area: float
    pairs: int
    of: Pair


@dataclass(frozen=True)
class PrecisionRecall:
    """Precision and recall at each threshold, over the pairs of Roc: as many of one class as of two.

    `average_precision` is the precision, averaged over the steps of the recall.
    """

    precision: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray
    average_precision: float
    pairs: int
    of: Pair


@dataclass(frozen=True)
class DistanceHistogram:
    """How many pairs of one class (`same`) and of two (`different`) are how far apart: all pairs, none is sampled.

    Bin i reaches from `edges[i]` to `edges[i + 1]` (Euclidean distance); every bin is as wide.
    """

    edges: np.ndarray
    same: np.ndarray
    different: np.ndarray


def recall_at_k(embeddings: Any, labels: Any, most: int = MOST_RANKS) -> RecallAtK:
    """Recall@k for k from 1 to `most` of embeddings (n × d) with class ids (n), among themselves.

    Each image is left out of its own search, and of equally near images the irrelevant one comes first. Raises
    UserError for input of a wrong shape, embeddings that are not finite, and where no class has two images.
    """
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise UserError(f"most is the largest k, a whole number from 1; got {most!r}.")
    points = _finite(embeddings, labels)
    with blas_on_one_thread():
        used, first_hit, _ = retrieval.first_hits(points)
    queries, n = len(used), len(points.points)
    if not queries:
        raise UserError("Recall@k needs a class with two images; every image here is alone in its class.")
    hits = np.bincount(np.minimum(first_hit, most + 1), minlength=most + 2)[1 : min(most, n - 1) + 1]
    return RecallAtK(np.cumsum(hits) / queries, queries, n - queries)


def roc(embeddings: Any, labels: Any, most: int = MOST_PAIRS, seed: int = 0) -> Roc:
    """The receiver operating characteristic of the distance, as the judge of whether two images show one class.

    Judged are at most `most` pairs of each kind, drawn with the seed: those of the score `roc_auc`. Raises UserError
    for input of a wrong shape, embeddings that are not finite, and where there are no pairs of both kinds.
    """
    distances, same, of = _judged(embeddings, labels, most, seed)
    false_positives, recall, thresholds = operating_points(distances, same)
    return Roc(false_positives, recall, thresholds, area(false_positives, recall), int(same.sum()), of)


def precision_recall(embeddings: Any, labels: Any, most: int = MOST_PAIRS, seed: int = 0) -> PrecisionRecall:
    """Precision over recall of the same pairs, and with the same errors, as `roc`."""
    distances, same, of = _judged(embeddings, labels, most, seed)
    false_positives, recall, thresholds = (values[1:] for values in operating_points(distances, same))
    precision = recall / (recall + false_positives)  # there are as many pairs of either kind
    steps = np.diff(recall, prepend=0)
    return PrecisionRecall(precision, recall, thresholds, float((steps * precision).sum()), int(same.sum()), of)


def distance_histogram(embeddings: Any, labels: Any, bins: int = BINS) -> DistanceHistogram:
    """Count all pairs of embeddings (n × d, with class ids n) by distance, in at most `bins` bins from 0 on.

    Raises UserError for input of a wrong shape and embeddings that are not finite.
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 1 <= bins <= _FINE:
        raise UserError(f"bins is a whole number from 1 to {_FINE}; got {bins!r}.")
    points = _finite(embeddings, labels)
    scaled, _, unit = conditioned(points.points, points.points)
    widest = 2 * float(np.sqrt(np.einsum("nd,nd->n", scaled, scaled).max())) * (1 + 1e-5)
    fine = _counted(scaled, points.classes, widest, points.points.dtype)
    last = int(np.flatnonzero(fine.any(axis=0)).max(initial=0)) + 1
    together = -(-last // bins)
    count = -(-last // together)
    coarse = np.zeros((2, count * together), np.int64)
    coarse[:, :last] = fine[:, :last]
    different, same = coarse.reshape(2, count, together).sum(axis=2)
    width = together * (widest or 1.0) * unit / _FINE
    return DistanceHistogram(np.arange(count + 1) * width, same, different)


def outline(x: np.ndarray, y: np.ndarray, tolerance: float = 1 / 2000, even: int = 200) -> np.ndarray:
    """The points (rising indices) of a curve that are enough to draw: it is nowhere farther from their lines than that.

    Of a curve in the unit square, 1,000 pixels wide, nothing moves by more than half a pixel (Ramer 1972; Douglas and
    Peucker 1973).
    `even` further points, spread evenly along it, are there to be pointed at.
    """
    way = np.concatenate([[0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    kept = np.zeros(len(x), bool)
    kept[[0, -1]] = True
    kept[np.searchsorted(way, np.linspace(0, way[-1], even, endpoint=False))] = True
    waiting = [(0, len(x) - 1)]
    while waiting:
        first, last = waiting.pop()
        dx, dy = x[last] - x[first], y[last] - y[first]
        right, up = x[first + 1 : last] - x[first], y[first + 1 : last] - y[first]
        length = float(np.hypot(dx, dy))
        away = np.abs(dx * up - dy * right) / length if length > 0 else np.hypot(right, up)
        if len(away) and away.max() > tolerance:
            middle = first + 1 + int(away.argmax())
            kept[middle] = True
            waiting += [(first, middle), (middle, last)]
    return np.flatnonzero(kept)


def _counted(points: np.ndarray, classes: np.ndarray, widest: float, kind: np.dtype) -> np.ndarray:
    """Pairs by distance, in _FINE bins up to `widest`: a row for those of two classes, one for those of one."""
    beyond = _FINE  # the bin of what is no pair: an image with itself, and a pair for the second time
    counts = np.zeros(2 * (_FINE + 1), np.int64)
    scale = kind.type(_FINE / widest if widest > 0 else 0)
    adding = threading.Lock()

    def count(start: int, rows: slice, squared: np.ndarray) -> None:
        scaled = np.sqrt(squared[:, rows.start :])
        scaled *= scale
        codes = scaled.astype(np.int16)
        codes[np.tril_indices(len(codes))] = beyond
        own, later = classes[start:][rows], classes[start + rows.start :]
        codes += (own[:, None] == later) * np.int16(_FINE + 1)
        found = np.bincount(codes.ravel(), minlength=len(counts))
        with adding:
            counts[:] += found

    with blas_on_one_thread():
        for start in range(0, len(points), _ROWS):  # of each pair one distance: what comes later, not what came before
            sweep(points[start : start + _ROWS], points[start:], kind, partial(count, start))
    return counts.reshape(2, _FINE + 1)[:, :_FINE]


def _judged(embeddings: Any, labels: Any, most: int, seed: int) -> tuple[np.ndarray, np.ndarray, Pair]:
    """Distances of pairs, whether they are of one class, and how many pairs there are of one class and of two."""
    points = _finite(embeddings, labels)
    alike = int((points.counts * (points.counts - 1) // 2).sum())
    of = alike, len(points.points) * (len(points.points) - 1) // 2 - alike
    if not all(of):
        raise UserError(f"Pairs of one class and of two are compared; here are {of[0]:,} and {of[1]:,}.")
    with blas_on_one_thread():
        distances, same, unit = pair_distances(points, most, seed)
    return distances * unit, same, of


def _finite(embeddings: Any, labels: Any) -> Embedded:
    points = read(embeddings, labels)
    if not points.finite:
        raise UserError("A curve is made of finite embeddings; got NaN or infinity: the training diverged.")
    return points
