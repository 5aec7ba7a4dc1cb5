"""Curves behind the metrics: recall@k, ROC, precision–recall; conventions as in `evaluate`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics import evaluate
from dmlviz.metrics.first_hits import first_hits
from dmlviz.metrics.inputs import read_finite
from dmlviz.metrics.verification import MAX_PAIRS, area, operating_points, pair_distances, pairs
from dmlviz.ops.pairwise_numpy import of_equal_length
from dmlviz.ops.squared_distances import single_threaded_blas

MAX_RANKS = 1000
MAX_CUT = 2000  # images that are scored with each number of dimensions

Pair = tuple[int, int]


@dataclass(frozen=True)
class RecallAtK:
    """Recall@k, also called CMC.

    Attributes:
        recall: Recall[k − 1] is the share of queries with an image of their class among the k nearest.
        queries: Number of queries.
        left_out: Number of images alone in their class, which cannot be queries.
        images: Index of each query, ascending.
        first_hit: Rank (from 1) of the nearest image of its class, for each query.
    """

    recall: np.ndarray
    queries: int
    left_out: int
    images: np.ndarray
    first_hit: np.ndarray

    @property
    def ks(self) -> np.ndarray:
        """The values of k: 1, 2, 3 and so on."""
        return np.arange(1, len(self.recall) + 1)


@dataclass(frozen=True)
class Roc:
    """Receiver operating characteristic of the distance as a same-class classifier.

    Attributes:
        false_positives: False positive rate at each threshold.
        recall: True positive rate at each threshold.
        thresholds: Distances up to which a pair counts as "same class".
        area: Area under the curve: the metric `roc_auc`.
        pairs: Number of sampled pairs of each kind.
        of: Number of all same-class pairs, and of all different-class pairs.
    """

    false_positives: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray
    area: float
    pairs: int
    of: Pair


@dataclass(frozen=True)
class PrecisionRecall:
    """Precision and recall at each threshold, over balanced pairs as in Roc.

    Attributes:
        precision: Precision at each threshold.
        recall: Recall at each threshold.
        thresholds: Distances up to which a pair counts as "same class".
        average_precision: Precision averaged over the steps of the recall.
        pairs: Number of sampled pairs of each kind.
        of: Number of all same-class pairs, and of all different-class pairs.
    """

    precision: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray
    average_precision: float
    pairs: int
    of: Pair


@dataclass(frozen=True)
class ScoresByDimension:
    """Scores of the first dimensions of embeddings alone.

    Attributes:
        dimensions: How many of the first dimensions: powers of two, and all.
        precision_at_1: P@1 with each.
        map_at_r: MAP@R with each.
        queries: Number of the images that were scored among each other.
    """

    dimensions: np.ndarray
    precision_at_1: np.ndarray
    map_at_r: np.ndarray
    queries: int


def scores_by_dimension(embeddings: Any, labels: Any) -> ScoresByDimension:
    """Score the first 1, 2, 4, … dimensions alone, of a random sample of 2,000 images where there are more.

    What is left of embeddings of length 1 is scaled to length 1 again; there 2 dimensions are the fewest.

    Args:
        embeddings: Embeddings (n × d).
        labels: Class IDs (n).

    Raises:
        UserError: As `dmlviz.metrics.evaluate`.

    Examples:
        >>> scores = scores_by_dimension([[0.0, 9.0], [1.0, 2.0], [5.0, 9.0], [6.0, 2.0]], [0, 0, 1, 1])
        >>> scores.dimensions.tolist(), scores.precision_at_1.tolist()
        ([1, 2], [1.0, 0.0])
    """
    points = np.asanyarray(embeddings)
    _ = read_finite(points, labels)
    rows = np.sort(np.random.default_rng(0).permutation(len(points))[:MAX_CUT])
    points, labels = points[rows], np.asarray(labels)[rows]
    on_sphere, most = np.allclose(np.linalg.norm(points, axis=1), 1, atol=1e-3), points.shape[1]
    lengths = [*(1 << np.arange(on_sphere, int(most - 1).bit_length())), most]
    scores = []
    for length in lengths:
        short = of_equal_length(points[:, :length], points)
        scores.append(evaluate(short, labels, clustering=False, full_ranking=False, verification=False))
    precision, map_at_r = (np.array([score[name] for score in scores]) for name in ("precision_at_1", "map_at_r"))
    return ScoresByDimension(np.array(lengths), precision, map_at_r, len(rows))


def recall_at_k(embeddings: Any, labels: Any, most: int = MAX_RANKS) -> RecallAtK:
    """Compute recall@k of embeddings against themselves.

    A query is excluded from its own search; among ties, irrelevant images come first.

    Args:
        embeddings: Embeddings (n × d), finite.
        labels: Class IDs (n).
        most: The largest k.

    Raises:
        UserError: For a wrong shape, embeddings that are not finite, or no class with two images.

    Examples:
        >>> recall_at_k([[0.0], [1.0], [1.5], [9.0]], [0, 0, 1, 1]).recall
        array([0.5 , 0.75, 1.  ])
    """
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise UserError(f"most is the largest k, a whole number from 1; got {most!r}.")
    points = read_finite(embeddings, labels)
    hits = first_hits(points)
    queries, n = len(hits.queries), len(points.points)
    if not queries:
        raise UserError("Recall@k needs a class with two images; every image here is alone in its class.")
    at_k = np.bincount(np.minimum(hits.rank, most + 1), minlength=most + 2)[1 : min(most, n - 1) + 1]
    return RecallAtK(np.cumsum(at_k) / queries, queries, n - queries, hits.queries, hits.rank)


def roc(embeddings: Any, labels: Any, most: int = MAX_PAIRS, seed: int = 0) -> Roc:
    """Compute the ROC of the distance as a same-class classifier.

    Args:
        embeddings: Embeddings (n × d), finite.
        labels: Class IDs (n).
        most: Maximum number of pairs of each kind; beyond it, pairs are sampled.
        seed: Seed of the sample; the default gives the pairs of the metric `roc_auc`.

    Raises:
        UserError: For a wrong shape, embeddings that are not finite, or pairs of one kind only.

    Examples:
        >>> round(roc([[0.0], [1.0], [2.0], [2.5]], [0, 0, 0, 1]).area, 3)
        0.556
    """
    distances, same, of = _sampled_pairs(embeddings, labels, most, seed)
    false_positives, recall, thresholds = operating_points(distances, same)
    return Roc(false_positives, recall, thresholds, area(false_positives, recall), int(same.sum()), of)


def precision_recall(embeddings: Any, labels: Any, most: int = MAX_PAIRS, seed: int = 0) -> PrecisionRecall:
    """Compute the precision–recall curve; arguments, pairs and errors as `roc`.

    Examples:
        >>> round(precision_recall([[0.0], [1.0], [2.0], [2.5]], [0, 0, 0, 1]).average_precision, 3)
        0.644
    """
    distances, same, of = _sampled_pairs(embeddings, labels, most, seed)
    false_positives, recall, thresholds = (values[1:] for values in operating_points(distances, same))
    precision = recall / (recall + false_positives)  # both kinds have the same number of pairs
    steps = np.diff(recall, prepend=0)
    return PrecisionRecall(precision, recall, thresholds, float((steps * precision).sum()), int(same.sum()), of)


def false_positives(
    embeddings: Any, labels: Any, threshold: float, most: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of two classes that a threshold accepts, the closest first, of those that `roc` samples.

    Args:
        embeddings: Embeddings (n × d), finite.
        labels: Class IDs (n).
        threshold: Distance up to which a pair counts as "same class".
        most: The number of pairs to return at most.
        seed: Seed of the sample.

    Returns:
        Indices of the first and of the second images.

    Examples:
        >>> false_positives([[0.0], [1.0], [1.5], [9.0]], [0, 0, 1, 1], threshold=1.0, most=5)
        (array([1]), array([2]))
    """
    points = read_finite(embeddings, labels)
    with single_threaded_blas():
        distances, same, unit = pair_distances(points, MAX_PAIRS, seed)
    first, second, _ = pairs(points.classes, MAX_PAIRS, seed)
    accepted = np.flatnonzero(~same & (distances * unit <= threshold))
    closest = accepted[np.argsort(distances[accepted], kind="stable")][:most]
    return first[closest], second[closest]


def outline(x: np.ndarray, y: np.ndarray, tolerance: float = 1 / 2000, even: int = 200) -> np.ndarray:
    """Simplify a curve for drawing.

    Args:
        x: Abscissas, n.
        y: Ordinates, n.
        tolerance: Maximum distance between the curve and its simplification. The default moves nothing by more than
            half a pixel when the unit square is drawn 1,000 pixels wide.
        even: Number of extra points, evenly spaced along the curve, for reading off values.

    Returns:
        Ascending indices of the points to draw.

    Reference:
        Ramer 1972; Douglas and Peucker 1973.

    Examples:
        >>> outline(np.array([0, 1, 2, 3]), np.array([0, 1, 2, 0]), even=0)
        array([0, 2, 3])
    """
    length_so_far = np.concatenate([[0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    selected = np.zeros(len(x), bool)
    selected[[0, -1]] = True
    selected[np.searchsorted(length_so_far, np.linspace(0, length_so_far[-1], even, endpoint=False))] = True
    stack = [(0, len(x) - 1)]
    while stack:
        first, last = stack.pop()
        dx, dy = x[last] - x[first], y[last] - y[first]
        right, up = x[first + 1 : last] - x[first], y[first + 1 : last] - y[first]
        length = float(np.hypot(dx, dy))
        deviation = np.abs(dx * up - dy * right) / length if length > 0 else np.hypot(right, up)
        if len(deviation) and deviation.max() > tolerance:
            middle = first + 1 + int(deviation.argmax())
            selected[middle] = True
            stack += [(first, middle), (middle, last)]
    return np.flatnonzero(selected)


def _sampled_pairs(embeddings: Any, labels: Any, most: int, seed: int) -> tuple[np.ndarray, np.ndarray, Pair]:
    """Return distances of pairs, whether each is same-class, and the numbers of all same- and different-class pairs."""
    points = read_finite(embeddings, labels)
    num_same = int((points.counts * (points.counts - 1) // 2).sum())
    of = num_same, len(points.points) * (len(points.points) - 1) // 2 - num_same
    if not all(of):
        raise UserError(
            f"Verification needs same-class and different-class pairs; got {of[0]:,} and {of[1]:,}: use 2 classes or "
            "more, with 2 images or more in one of them."
        )
    with single_threaded_blas():
        distances, same, unit = pair_distances(points, most, seed)
    return distances * unit, same, of
