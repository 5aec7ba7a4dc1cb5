"""Pair verification metrics: ROC AUC, equal error rate, FPR at 95% recall, ten-fold accuracy; and of an open set."""

from dataclasses import dataclass

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics.inputs import LabeledEmbeddings
from dmlviz.ops.ball import curvature_of
from dmlviz.ops.squared_distances import squared_differences

KEYS = ("roc_auc", "eer", "fpr_at_95_recall", "accuracy_10_fold")
MAX_PAIRS = 50_000


def scores(points: LabeledEmbeddings, most: int = MAX_PAIRS, seed: int = 0) -> dict[str, float]:
    """Return the verification metrics of up to `most` same-class and as many different-class pairs; NaN without."""
    distances, same, _ = pair_distances(points, most, seed)
    return verify_pairs(distances, same, seed)


def pair_distances(
    points: LabeledEmbeddings, most: int = MAX_PAIRS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return distances of balanced pairs, whether each is same-class, and the unit by which to multiply distances."""
    first, second, same = pairs(points.classes, most, seed)
    wide, unit = points.points.astype(np.float64), 1.0
    if not curvature_of(wide):
        unit = 2.0 ** int(np.frexp(np.abs(wide).max(initial=0.0))[1])  # squares must not overflow
        wide = wide / unit
    distances = np.sqrt(squared_differences(wide, wide, first, second))
    return distances.astype(points.points.dtype), same, unit


def verify_pairs(distances: np.ndarray, same: np.ndarray, seed: int = 0) -> dict[str, float]:
    """Compute ROC AUC, equal error rate, FPR at 95% recall and ten-fold accuracy.

    Args:
        distances: Distance of each pair.
        same: Whether each pair is of one class.
        seed: Seed of the folds.

    Returns:
        Values by metric name; NaN unless there are pairs of both kinds.

    Reference:
        Huang et al. 2007 (LFW): the threshold is fitted on nine folds and tested on the tenth.

    Examples:
        >>> scores = verify_pairs(np.array([1.0, 2, 3, 4]), np.array([True, True, False, False]))
        >>> scores["roc_auc"], scores["eer"]
        (1.0, 0.0)
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
    """Return false positive rate, recall and threshold, by ascending threshold: a pair is "same" up to it.

    There is one point for each distinct distance, after (0, 0) at the threshold −infinity.
    """
    order = np.argsort(distances, kind="stable")
    ordered, hits = distances[order], np.cumsum(same[order])
    ends = np.flatnonzero(np.concatenate([ordered[1:] > ordered[:-1], [True]]))
    false_alarms = ends + 1 - hits[ends]
    false_positives, recall = (np.concatenate([[0], counts]) / counts[-1] for counts in (false_alarms, hits[ends]))
    return false_positives, recall, np.concatenate([[-np.inf], ordered[ends]])


def area(x: np.ndarray, y: np.ndarray) -> float:
    """Return the area under a polyline with ascending x (trapezoidal rule)."""
    return float((np.diff(x) * (y[1:] + y[:-1])).sum() / 2)


def pairs(classes: np.ndarray, most: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Select equally many same-class and different-class pairs of distinct points.

    Args:
        classes: Class indices (n).
        most: Maximum number of each kind; if there are more, they are sampled uniformly.
        seed: Seed of the sample.

    Returns:
        Indices of the first points, of the second points, and whether each pair is same-class.
    """
    order = np.argsort(classes, kind="stable")
    position = np.arange(len(order))
    end = np.searchsorted(classes[order], classes[order], side="right")
    rng = np.random.default_rng(seed)
    kinds = [(end - position - 1, position + 1), (len(order) - end, end)]
    count = min(most, *(int(partners.sum()) for partners, _ in kinds))
    samples = []
    for partners, begin in kinds:
        total = int(partners.sum())
        few = total <= 4 * most
        numbers = np.sort(rng.permutation(total)[:count]) if few else rng.integers(total, size=count)
        first = np.searchsorted(np.cumsum(partners), numbers, side="right")
        second = begin[first] + numbers - (np.cumsum(partners) - partners)[first]
        samples.append((order[first], order[second]))
    (same_a, same_b), (other_a, other_b) = samples
    return np.concatenate([same_a, other_a]), np.concatenate([same_b, other_b]), np.repeat([True, False], count)


def best_threshold(distances: np.ndarray, same: np.ndarray) -> float:
    """Return the most accurate threshold for "same" below it, halfway between two distances; the smallest of ties."""
    order = np.argsort(distances, kind="stable")
    ordered = distances[order]
    num_correct = np.concatenate([[0], np.cumsum(np.where(same[order], 1, -1))])  # up to a constant
    cuts = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])
    best = np.flatnonzero(cuts)[num_correct[cuts].argmax()]
    if best == 0:
        return float(ordered[0]) - 1.0
    if best == len(ordered):
        return float(ordered[-1]) + 1.0
    return float(ordered[best - 1] + ordered[best]) / 2


def _accuracy_over_folds(distances: np.ndarray, same: np.ndarray, seed: int) -> float:
    """Return the mean accuracy over up to ten stratified folds."""
    folds = min(10, int(same.sum()), int((~same).sum()))
    if folds < 2:
        return float("nan")
    fold = np.empty(len(same), np.int64)
    rng = np.random.default_rng(seed)
    for kind in (same, ~same):
        members = rng.permutation(np.flatnonzero(kind))
        fold[members] = np.arange(len(members)) % folds
    order = np.argsort(distances, kind="stable")  # sorted once, so that sorting each fold is cheap
    distances, same, fold = distances[order], same[order], fold[order]
    accuracies = []
    for held_out in range(folds):
        is_test = fold == held_out
        threshold = best_threshold(distances[~is_test], same[~is_test])
        accuracies.append(((distances[is_test] < threshold) == same[is_test]).mean())
    return float(np.mean(accuracies))


@dataclass(frozen=True)
class Identification:
    """The answers to all probes, at every threshold.

    Attributes:
        thresholds: Distances (k, ascending, the first is −infinity): a probe farther from everyone is "unknown".
        false_alarms: Share of the unknown probes that got a name.
        identified: Share of the known probes that got their own name (detection and identification rate).
        closed_accuracy: Share of the known probes that get their own name without a threshold.
    """

    thresholds: np.ndarray
    false_alarms: np.ndarray
    identified: np.ndarray
    closed_accuracy: float

    def at(self, false_alarms: float) -> float:
        """Return the highest rate of identification with no more false alarms than a share."""
        return float(self.identified[np.searchsorted(self.false_alarms, false_alarms, side="right") - 1])

    def threshold_at(self, false_alarms: float) -> float:
        """Return the threshold that belongs to `at`."""
        return float(self.thresholds[np.searchsorted(self.false_alarms, false_alarms, side="right") - 1])


def identification(distances: np.ndarray, right: np.ndarray, known: np.ndarray) -> Identification:
    """Answer probes with the name of the nearest identity, or "unknown" where that is farther than a threshold.

    Args:
        distances: Distance of each probe to the nearest identity of the gallery (n).
        right: Whether that identity is the probe's own (n); not looked at where a probe is unknown.
        known: Whether the probe's identity is in the gallery (n).

    Raises:
        UserError: Unless there are known and unknown probes.

    Reference:
        Phillips, Grother, Micheals: Handbook of Face Recognition, chapter 14, 2011.

    Examples:
        >>> answers = identification(np.array([1.0, 2, 3, 4]), np.array([1, 0, 1, 0]) > 0, np.array([1, 1, 1, 0]) > 0)
        >>> round(answers.at(0.0), 3), round(answers.closed_accuracy, 3)
        (0.667, 0.667)
    """
    if known.all() or not known.any():
        raise UserError("Identification needs known and unknown probes; got only one kind: leave some identities out.")
    order = np.argsort(distances, kind="stable")
    ordered = distances[order]
    ends = np.flatnonzero(np.concatenate([ordered[1:] > ordered[:-1], [True]]))
    alarms, named = np.cumsum(~known[order])[ends], np.cumsum((right & known)[order])[ends]
    return Identification(
        thresholds=np.concatenate([[-np.inf], ordered[ends]]),
        false_alarms=np.concatenate([[0.0], alarms / np.count_nonzero(~known)]),
        identified=np.concatenate([[0.0], named / np.count_nonzero(known)]),
        closed_accuracy=float(np.mean(right[known])),
    )
