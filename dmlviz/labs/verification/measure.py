"""Same or not: a distance threshold on pairs of identities that the net was not trained on."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlviz.data import load
from dmlviz.labs.kept_arrays import images_id
from dmlviz.labs.training import embed_test_images
from dmlviz.labs.verification import FALSE_POSITIVE_RATES, SCORES
from dmlviz.metrics.verification import area, operating_points
from dmlviz.metrics.verification_folds import (
    FoldPairs,
    fold_accuracy,
    fold_pairs,
    recall_at_false_positives,
    resample_identities,
    weighted_operating_points,
)
from dmlviz.studies.trial import Trial, TrialContext

LFW_PAIRS = 300  # of each kind in a fold, as in LFW
ROC_SAME, ROC_DIFFERENT = 2000, 10_000  # in a fold: enough for a false positive rate of 1 in 10,000
RESAMPLES = 100  # of the bootstrap over identities
GUESSED_PAIRS = 3  # of each kind in a fold, from which a visitor is asked about some
WORST = 12
BINS = 40
CHUNK = 256  # pairs whose distances are computed at a time


def measure(trial: Trial, context: TrialContext) -> Mapping[str, Any]:
    """Train a net, or take raw pixels; verify pairs of test identities.

    Returns:
        The scores of `SCORES` with `low` and `high` of a bootstrap over identities; `folds` with accuracy and threshold
        of each; `roc`, the recall at each rate of `FALSE_POSITIVE_RATES`; `histogram` of distances; `threshold`, the
        median of the folds; `identities`; `images`, which test images these are.
    """
    data = load(trial.dataset, context.data_root)
    labels = data.test.labels
    embeddings = embed_test_images(trial.settings["fields"], data, context)
    lfw = fold_pairs(labels, LFW_PAIRS, LFW_PAIRS)
    folds = fold_accuracy(_distances(embeddings, lfw), lfw)
    accuracy = {
        "accuracy_10_fold": float(folds.accuracy.mean()),
        "folds": {"accuracy": folds.accuracy.tolist(), "threshold": folds.threshold.tolist()},
    }
    context.report(0.9, **accuracy)
    pairs = fold_pairs(labels, ROC_SAME, ROC_DIFFERENT, seed=1)
    distances = _distances(embeddings, pairs)
    threshold = float(np.median(folds.threshold))
    worst = _worst(distances, pairs.same, threshold)
    pixels = _distances(data.test.images.reshape(len(labels), -1).astype(np.float32), pairs)
    np.savez_compressed(
        context.folder / "worst.npz",
        first=pairs.first[worst].astype(np.int32),
        second=pairs.second[worst].astype(np.int32),
        same=pairs.same[worst],
        distance=distances[worst].astype(np.float32),
        pixel_distance=pixels[worst].astype(np.float32),
    )
    _keep_guessed_pairs(embeddings, labels, context)
    scores = _scores(*operating_points(distances, pairs.same)[:2])
    low, high = _bootstrap(distances, pairs, labels)
    return {
        **accuracy,
        **scores,
        "low": low,
        "high": high,
        "roc": _roc(distances, pairs.same).tolist(),
        "histogram": _histogram(distances, pairs.same),
        "threshold": threshold,
        "identities": len(np.unique(labels)),
        "images": images_id(data),
        "made_from": data.note,
    }


def _keep_guessed_pairs(embeddings: np.ndarray, labels: np.ndarray, context: TrialContext) -> None:
    """Keep the distances of the pairs that visitors are asked about; they are the same for every net."""
    pairs = fold_pairs(labels, GUESSED_PAIRS, GUESSED_PAIRS, seed=2)
    np.savez_compressed(
        context.folder / "guessed.npz",
        first=pairs.first.astype(np.int32),
        second=pairs.second.astype(np.int32),
        same=pairs.same,
        distance=_distances(embeddings, pairs).astype(np.float32),
    )


def _distances(embeddings: np.ndarray, pairs: FoldPairs) -> np.ndarray:
    squared = np.empty(len(pairs.first))
    for start in range(0, len(squared), CHUNK):  # the differences of a chunk stay in the processor's cache
        part = slice(start, start + CHUNK)
        differences = embeddings[pairs.first[part]] - embeddings[pairs.second[part]]
        np.square(differences, out=differences).sum(axis=1, dtype=np.float64, out=squared[part])
    return np.sqrt(squared)


def _roc(distances: np.ndarray, same: np.ndarray) -> np.ndarray:
    false_positives, recall, _ = operating_points(distances, same)
    return recall_at_false_positives(false_positives, recall, np.array(FALSE_POSITIVE_RATES))


def _scores(false_positives: np.ndarray, recall: np.ndarray) -> dict[str, float]:
    return {
        "roc_auc": area(false_positives, recall),
        "eer": float(np.interp(0, false_positives + recall - 1, false_positives)),
        "fpr_at_95_recall": float(false_positives[recall >= 0.95][0]),
        "recall_at_fpr_001": float(recall_at_false_positives(false_positives, recall, np.array([1e-3]))[0]),
    }


def _bootstrap(
    distances: np.ndarray, pairs: FoldPairs, labels: np.ndarray
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the lower and upper ends of the scores' 95% intervals."""
    order = np.argsort(distances, kind="stable")
    draws = FoldPairs(pairs.first[order], pairs.second[order], pairs.same[order], pairs.fold[order])
    rng = np.random.default_rng(0)
    samples = [
        _scores(*weighted_operating_points(distances[order], draws.same, resample_identities(labels, draws, rng)))
        for _ in range(RESAMPLES)
    ]
    names = [name for name in SCORES if name in samples[0]]
    ends = {name: np.percentile([scores[name] for scores in samples], [2.5, 97.5]) for name in names}
    return {name: float(ends[name][0]) for name in names}, {name: float(ends[name][1]) for name in names}


def _worst(distances: np.ndarray, same: np.ndarray, threshold: float) -> np.ndarray:
    """Return the indices of the nearest pairs of two identities, then of the farthest pairs of one identity."""
    alarms = np.flatnonzero(~same & (distances < threshold))
    misses = np.flatnonzero(same & (distances >= threshold))
    nearest = alarms[np.argsort(distances[alarms], kind="stable")]
    farthest = misses[np.argsort(-distances[misses], kind="stable")]
    return np.concatenate([nearest[:WORST], farthest[:WORST]])


def _histogram(distances: np.ndarray, same: np.ndarray) -> dict[str, list[float]]:
    edges = np.linspace(0, float(distances.max()), BINS + 1)
    counts = {
        name: np.histogram(distances[kind], edges)[0] / np.count_nonzero(kind)
        for name, kind in (("same", same), ("different", ~same))
    }
    return {"edges": edges.tolist(), **{name: values.tolist() for name, values in counts.items()}}
