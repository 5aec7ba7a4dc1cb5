"""Whether a distance tells if two images show the same class: pairs judged by a threshold."""

import numpy as np

from dmlviz.metrics.distances import squared_differences
from dmlviz.metrics.inputs import Embedded

KEYS = ("roc_auc", "eer", "fpr_at_95_recall", "accuracy_10_fold")
MOST_PAIRS = 50_000


def scores(points: Embedded, most: int = MOST_PAIRS, seed: int = 0) -> dict[str, float]:
    """Judge as many pairs of one class as of two, at most `most` of each; NaN where there are none of either."""
    distances, same, _ = pair_distances(points, most, seed)
    return judge(distances, same, seed)


def pair_distances(points: Embedded, most: int = MOST_PAIRS, seed: int = 0) -> tuple[np.ndarray, np.ndarray, float]:
    """How far the two of each of those pairs are apart, whether they are of one class, and the distances' unit."""
    first, second, same = pairs(points.classes, most, seed)
    unit = 2.0 ** int(np.frexp(np.abs(points.points).max(initial=0.0))[1])  # squares must not overflow
    wide = points.points.astype(np.float64) / unit
    distances = np.sqrt(squared_differences(wide, wide, first, second))
    return distances.astype(points.points.dtype), same, unit


def judge(distances: np.ndarray, same: np.ndarray, seed: int = 0) -> dict[str, float]:
    """ROC area, equal error rate, false positives at 95 % recall and ten-fold accuracy of pairs with these distances.

    The ten folds follow Huang et al. 2007 (LFW): the threshold comes from nine folds and is judged on the tenth.
    """
    if same.all() or not same.any():
        return dict.fromkeys(KEYS, float("nan"))
    false_positives, recall, _ = operating_points(distances, same)
    gap = 1 - recall - false_positives
    return {
        "roc_auc": area(false_positives, recall),
        "eer": float(np.interp(0, -gap, false_positives)),
        "fpr_at_95_recall": float(false_positives[recall >= 0.95][0]),
        "accuracy_10_fold": _accuracy_over_folds(distances, same, seed),
    }


def operating_points(distances: np.ndarray, same: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What each threshold t lets in: (false positive rate, recall, t), t rising, where "same" is said up to t.

    One point for each distance that occurs, and before them (0, 0) at -inf, where nothing is called the same.
    """
    order = np.argsort(distances, kind="stable")
    ordered, hits = distances[order], np.cumsum(same[order])
    ends = np.flatnonzero(np.concatenate([ordered[1:] > ordered[:-1], [True]]))
    let_in = ends + 1 - hits[ends]
    false_positives, recall = (np.concatenate([[0], counts]) / counts[-1] for counts in (let_in, hits[ends]))
    return false_positives, recall, np.concatenate([[-np.inf], ordered[ends]])


def area(x: np.ndarray, y: np.ndarray) -> float:
    """The area below the straight lines from point to point, x rising."""
    return float((np.diff(x) * (y[1:] + y[:-1])).sum() / 2)


def pairs(classes: np.ndarray, most: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs (first, second, same) of distinct points: equally many of one class and of two, at most `most` of each.

    All pairs of a kind are taken where there are no more; otherwise they are drawn, with the seed, each as likely as
    any other.
    """
    order = np.argsort(classes, kind="stable")
    position = np.arange(len(order))
    end = np.searchsorted(classes[order], classes[order], side="right")
    rng = np.random.default_rng(seed)
    kinds = [(end - position - 1, position + 1), (len(order) - end, end)]
    count = min(most, *(int(partners.sum()) for partners, _ in kinds))
    drawn = []
    for partners, begin in kinds:
        total = int(partners.sum())
        few = total <= 4 * most
        chosen = np.sort(rng.permutation(total)[:count]) if few else rng.integers(total, size=count)
        first = np.searchsorted(np.cumsum(partners), chosen, side="right")
        second = begin[first] + chosen - (np.cumsum(partners) - partners)[first]
        drawn.append((order[first], order[second]))
    (same_a, same_b), (other_a, other_b) = drawn
    return np.concatenate([same_a, other_a]), np.concatenate([same_b, other_b]), np.repeat([True, False], count)


def best_threshold(distances: np.ndarray, same: np.ndarray) -> float:
    """The threshold, halfway between two distances, below which "same" is right most often; the smallest such one."""
    order = np.argsort(distances, kind="stable")
    ordered = distances[order]
    right = np.concatenate([[0], np.cumsum(np.where(same[order], 1, -1))])
    cuts = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])
    best = np.flatnonzero(cuts)[right[cuts].argmax()]
    if best == 0:
        return float(ordered[0]) - 1.0
    if best == len(ordered):
        return float(ordered[-1]) + 1.0
    return float(ordered[best - 1] + ordered[best]) / 2


def _accuracy_over_folds(distances: np.ndarray, same: np.ndarray, seed: int) -> float:
    """The mean over (up to) ten folds, each with its share of both kinds."""
    folds = min(10, int(same.sum()), int((~same).sum()))
    if folds < 2:
        return float("nan")
    fold = np.empty(len(same), np.int64)
    rng = np.random.default_rng(seed)
    for kind in (same, ~same):
        members = rng.permutation(np.flatnonzero(kind))
        fold[members] = np.arange(len(members)) % folds
    order = np.argsort(distances, kind="stable")  # then each fold's own sorting has nothing left to do
    distances, same, fold = distances[order], same[order], fold[order]
    accuracies = []
    for held_out in range(folds):
        judged = fold == held_out
        threshold = best_threshold(distances[~judged], same[~judged])
        accuracies.append(((distances[judged] < threshold) == same[judged]).mean())
    return float(np.mean(accuracies))
