"""Verification as with LFW: ten folds of pairs that share no identity; a threshold from nine is tested on the tenth."""

from dataclasses import dataclass

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics.verification import best_threshold

FOLDS = 10


@dataclass(frozen=True)
class FoldPairs:
    """Pairs of images; every attribute has m entries.

    Attributes:
        first: Index of the first image.
        second: Index of the second image.
        same: Whether both show one identity.
        fold: The fold of both identities.
    """

    first: np.ndarray
    second: np.ndarray
    same: np.ndarray
    fold: np.ndarray


@dataclass(frozen=True)
class FoldAccuracy:
    """Accuracy and threshold of each fold; the threshold was fitted on the other folds.

    Attributes:
        accuracy: A share for each fold.
        threshold: A distance for each fold: a pair is "same" below it.
    """

    accuracy: np.ndarray
    threshold: np.ndarray


def fold_pairs(labels: np.ndarray, same: int, different: int, seed: int = 0, folds: int = FOLDS) -> FoldPairs:
    """Draw pairs of distinct images in folds that share no identity.

    Args:
        labels: Identities (n).
        same: Pairs of one identity in each fold, at most as many as there are.
        different: Pairs of two identities in each fold, drawn with replacement.
        seed: Seed of folds and pairs.
        folds: Number of folds.

    Raises:
        UserError: If a fold would have no pair of one kind.

    Reference:
        Huang, Ramesh, Berg, Learned-Miller: Labeled Faces in the Wild, 2007.
    """
    rng = np.random.default_rng(seed)
    identities = rng.permutation(np.unique(labels))
    parts = [np.array_split(identities, folds)[number] for number in range(folds)]
    pairs = [_pairs_of(np.flatnonzero(np.isin(labels, part)), labels, same, different, rng) for part in parts]
    if any(not len(of_same) or not len(of_different) for of_same, of_different in pairs):
        raise UserError(
            f"Each of {folds} folds needs two identities, one of them with two images; got {len(identities)} "
            f"identities and {len(labels):,} images: use more images, or fewer folds."
        )
    both = [np.concatenate(kinds) for kinds in pairs]
    kinds = [np.repeat([True, False], [len(of_same), len(of_different)]) for of_same, of_different in pairs]
    first, second = np.concatenate(both).T
    fold = np.repeat(np.arange(folds), [len(part) for part in both])
    return FoldPairs(first, second, np.concatenate(kinds), fold)


def _pairs_of(
    images: np.ndarray, labels: np.ndarray, same: int, different: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.triu_indices(len(images), 1)
    alike = np.flatnonzero(labels[images[i]] == labels[images[j]])
    other = np.flatnonzero(labels[images[i]] != labels[images[j]])
    alike = rng.permutation(alike)[:same]
    other = other[rng.integers(len(other), size=different)] if len(other) else other
    pairs = np.stack([images[i], images[j]], axis=1)
    return pairs[alike], pairs[other]


def fold_accuracy(distances: np.ndarray, pairs: FoldPairs) -> FoldAccuracy:
    """Return accuracy and threshold of each fold, with the threshold that is most accurate on the other folds.

    Args:
        distances: Distance of each pair (m).
        pairs: The pairs, in at least two folds.

    Examples:
        >>> pairs = fold_pairs(np.repeat(np.arange(20), 2), same=2, different=2)
        >>> fold_accuracy(np.where(pairs.same, 0.0, 1.0), pairs).accuracy.tolist() == [1.0] * 10
        True
    """
    folds = np.unique(pairs.fold)
    accuracy, threshold = np.empty(len(folds)), np.empty(len(folds))
    for number, fold in enumerate(folds):
        held_out = pairs.fold == fold
        threshold[number] = best_threshold(distances[~held_out], pairs.same[~held_out])
        is_same = distances[held_out] < threshold[number]
        accuracy[number] = np.mean(is_same == pairs.same[held_out])
    return FoldAccuracy(accuracy, threshold)


def recall_at_false_positives(false_positives: np.ndarray, recall: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the highest recall with no more false positives than each rate.

    Args:
        false_positives: Ascending, as `operating_points` returns them.
        recall: Recall at each of them.
        rates: Allowed false positive rates (k).

    Examples:
        >>> recall_at_false_positives(np.array([0.0, 0.1, 1.0]), np.array([0.5, 0.8, 1.0]), np.array([0.05, 0.1]))
        array([0.5, 0.8])
    """
    last = np.searchsorted(false_positives, rates, side="right") - 1
    best: np.ndarray = np.maximum.accumulate(recall)[last]
    return best


def resample_identities(labels: np.ndarray, pairs: FoldPairs, rng: np.random.Generator) -> np.ndarray:
    """Return a weight for each pair (m) of a bootstrap over identities: how often both of its identities were drawn.

    A pair of one identity counts as often as that identity was drawn.
    """
    identities, index = np.unique(labels, return_inverse=True)
    counts = np.bincount(rng.integers(len(identities), size=len(identities)), minlength=len(identities))
    first, second = counts[index[pairs.first]], counts[index[pairs.second]]
    weights: np.ndarray = np.where(pairs.same, first, first * second)
    return weights


def weighted_operating_points(
    distances: np.ndarray, same: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return false positive rate and recall by ascending threshold, each pair as often as its weight says.

    Args:
        distances: Ascending distances (m), as after a sort; a group of equal ones is one threshold.
        same: Whether each pair is of one identity.
        weights: Number of times that each pair counts.
    """
    ends = np.flatnonzero(np.concatenate([distances[1:] > distances[:-1], [True]]))
    rates = []
    for kind in (~same, same):
        counts = np.cumsum(weights * kind)[ends]
        rates.append(np.concatenate([[0.0], counts / max(counts[-1], 1)]))
    return rates[0], rates[1]
