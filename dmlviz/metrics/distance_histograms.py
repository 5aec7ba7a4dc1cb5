"""Histograms of all distances within and between classes, none sampled, and the images behind a bar."""

import threading
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics.inputs import read_finite
from dmlviz.ops.ball import lengths
from dmlviz.ops.pairwise_numpy import RoughDistances
from dmlviz.ops.squared_distances import for_each_chunk, rescale

BINS = 80
_FINE_BINS = 4096  # counted first, then merged to at most BINS

PairKind = Literal["same", "different"]


@dataclass(frozen=True)
class DistanceHistogram:
    """Numbers of all pairs by Euclidean distance, without sampling.

    Attributes:
        edges: Bin i is [edges[i], edges[i + 1]); all bins have the same width.
        same: Same-class pairs in each bin.
        different: Different-class pairs in each bin.
    """

    edges: np.ndarray
    same: np.ndarray
    different: np.ndarray


def distance_histogram(embeddings: Any, labels: Any, bins: int = BINS) -> DistanceHistogram:
    """Count all pairs of embeddings by distance, in single precision.

    Args:
        embeddings: Embeddings (n × d), finite.
        labels: Class IDs (n).
        bins: Maximum number of bins, from 0 on.

    Raises:
        UserError: For a wrong shape, or embeddings that are not finite.
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 1 <= bins <= _FINE_BINS:
        raise UserError(f"bins is a whole number from 1 to {_FINE_BINS}; got {bins!r}.")
    points = read_finite(embeddings, labels)
    by_class = np.argsort(points.classes, kind="stable")
    scaled, _, unit = rescale(points.points[by_class], points.points[by_class])
    widest = 2 * float(lengths(scaled).max()) * (1 + 1e-5)
    all_pairs, same = _fine_histogram(scaled, points.classes[by_class], widest)
    last = int(np.flatnonzero(all_pairs).max(initial=0)) + 1
    merged = -(-last // bins)  # fine bins in one bin
    count = -(-last // merged)
    coarse = np.zeros((2, count * merged), np.int64)
    coarse[:, :last] = all_pairs[:last], same[:last]
    all_pairs, same = coarse.reshape(2, count, merged).sum(axis=2)
    width = merged * (widest or 1.0) * unit / _FINE_BINS
    return DistanceHistogram(np.arange(count + 1) * width, same, all_pairs - same)


def pairs_per_image(embeddings: Any, labels: Any, low: float, high: float, kind: PairKind) -> np.ndarray:
    """Count, for each image, its pairs with a distance in [low, high), in single precision.

    Args:
        embeddings: Embeddings (n × d), finite.
        labels: Class IDs (n).
        low: The smallest distance.
        high: The distance that ends the range.
        kind: Pairs of the "same" class or of "different" classes.

    Returns:
        n counts.
    """
    points = read_finite(embeddings, labels)
    scaled, _, unit = rescale(points.points, points.points)
    counts = np.zeros(len(scaled), np.int64)
    least, end = np.float32((low / unit) ** 2), np.float32((high / unit) ** 2)
    distances = RoughDistances(scaled, scaled)

    def visit(rows: slice) -> None:
        squared = np.maximum(distances.of(rows), 0)
        within = (squared >= least) & (squared < end)
        within &= (points.classes[rows, None] == points.classes) == (kind == "same")
        index = np.arange(rows.start, rows.stop)
        within[index - rows.start, index] = False
        counts[rows] = np.count_nonzero(within, axis=1)

    for_each_chunk(len(scaled), len(scaled), visit)
    return counts


def _fine_histogram(points: np.ndarray, classes: np.ndarray, widest: float) -> np.ndarray:
    """Count pairs by distance up to `widest`: a row of all pairs, a row of same-class pairs (2 × _FINE_BINS).

    Args:
        points: Points (n × d), sorted by class, with no coordinate beyond 1.
        classes: Class of each item (n), ascending.
        widest: No distance is larger.
    """
    ignored = _FINE_BINS  # the bin for an image with itself, and for pairs counted already
    counts = np.zeros((2, _FINE_BINS + 1), np.int64)
    scale = np.float32(_FINE_BINS / widest if widest > 0 else 0)
    end = np.searchsorted(classes, classes, side="right")  # of each image's class
    distances, lock = RoughDistances(points, points), threading.Lock()

    def visit(rows: slice) -> None:
        squared = distances.of(rows, slice(rows.start, None))  # only the upper triangle: each pair once
        np.maximum(squared, 0, out=squared)
        codes = (np.sqrt(squared, out=squared) * scale).astype(np.int16)
        codes[np.tril_indices(len(codes))] = ignored
        within = slice(rows.start, int(end[rows.stop - 1]))
        of_one_class = codes[:, : within.stop - within.start][classes[rows, None] == classes[within]]
        chunk_counts = [np.bincount(some, minlength=_FINE_BINS + 1) for some in (codes.ravel(), of_one_class)]
        with lock:
            counts[:] += chunk_counts

    for_each_chunk(len(points), len(points), visit)
    return counts[:, :_FINE_BINS]
