"""Accuracy of simple classifiers on frozen embeddings: the scores of training without labels. No torch."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from dmlviz.errors import UserError
from dmlviz.metrics.classification import majority_vote
from dmlviz.metrics.inputs import LabeledEmbeddings, read, read_query_and_gallery
from dmlviz.ops.labels import common_classes
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.ops.stopping import stop_check

K = 5  # neighbors that vote
STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # C of the logistic regression: the larger, the weaker the regularization
MAX_ITERATIONS = 200
PROBES = ("knn_probe_accuracy", "linear_probe_accuracy")
MAX_PROBED = 60_000  # training images that vote
MAX_FITTED = 10_000  # training images that the regression is fitted to, and validation images: more take minutes


def probe_scores(
    embeddings: Any, labels: Any, train: tuple[Any, Any], validation: tuple[Any, Any] | None = None
) -> dict[str, float]:
    """Return both accuracies by name; arguments as `linear_probe_accuracy`.

    All training images vote. The regression is fitted to at most MAX_FITTED of them, evenly spread.
    """
    rows = np.linspace(0, len(train[1]) - 1, min(len(train[1]), MAX_FITTED)).astype(int)
    fitted = np.asarray(train[0])[rows], np.asarray(train[1])[rows]
    knn = knn_probe_accuracy(embeddings, labels, *train, k=min(K, len(train[1])))
    return dict(zip(PROBES, (knn, linear_probe_accuracy(embeddings, labels, fitted, validation)), strict=True))


def knn_probe_accuracy(embeddings: Any, labels: Any, train_embeddings: Any, train_labels: Any, k: int = K) -> float:
    """Return the share of images whose class wins the vote of their k nearest training images; ties to the nearest.

    Args:
        embeddings: Images to classify, n × d.
        labels: Their class ids, n.
        train_embeddings: Training images, m × d, at least k.
        train_labels: Their class ids, m.
        k: Number of neighbors.

    Raises:
        UserError: For input of a wrong shape.

    Examples:
        >>> knn_probe_accuracy([[0.1], [2.9]], [0, 0], [[0.0], [1.0], [3.0]], [0, 0, 1], k=1)
        0.5
    """
    queries, train = read_query_and_gallery(embeddings, labels, train_embeddings, train_labels)
    assert train is not None
    if not 1 <= k <= len(train.points):
        raise UserError(f"k lies between 1 and the {len(train.points):,} training images; got {k}.")
    if not (queries.finite and train.finite):
        return float("nan")
    nearest = NearestNeighbors(train.points).search(queries.points, k)[1]
    return float((majority_vote(train.classes[nearest]) == queries.classes).mean())


def linear_probe_accuracy(
    embeddings: Any,
    labels: Any,
    train: tuple[Any, Any],
    validation: tuple[Any, Any] | None = None,
    strengths: Sequence[float] = STRENGTHS,
) -> float:
    """Return the accuracy of a logistic regression that was fitted to the embeddings of training images.

    Dimensions are standardized by the training images. The regularization is the one of `strengths` that is best on
    the validation images, the stronger of two equals; without validation images it is C = 1.

    Args:
        embeddings: Images to classify, n × d.
        labels: Their class ids, n.
        train: Embeddings (m × d) and class ids (m) of training images of two classes at least.
        validation: The same of validation images.
        strengths: The C to choose from.

    Raises:
        UserError: For input of a wrong shape, or training images of one class.

    Reference:
        Alain, Bengio: Understanding intermediate layers using linear classifier probes, ICLR workshop 2017
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    queries, fitted = read(embeddings, labels), read(*train)
    chosen_by = None if validation is None else read(*validation)
    if len(fitted.class_ids) < 2:
        raise UserError("A linear probe tells classes apart; got training images of one class: give at least two.")
    if not all(part.finite for part in (queries, fitted, chosen_by) if part is not None):
        return float("nan")
    scaler = StandardScaler().fit(fitted.points.astype(np.float64))

    def accuracy(strength: float, part: LabeledEmbeddings) -> float:
        if strength not in probes:
            check()
            probe = LogisticRegression(C=strength, max_iter=MAX_ITERATIONS)
            with warnings.catch_warnings():  # some more digits would not change a class
                warnings.simplefilter("ignore", ConvergenceWarning)
                probes[strength] = probe.fit(scaler.transform(fitted.points), fitted.classes)
        _, own, places = common_classes(fitted.class_ids, part.class_ids)
        return float((own[probes[strength].predict(scaler.transform(part.points))] == places[part.classes]).mean())

    check = stop_check()
    probes: dict[float, Any] = {}
    best = 1.0
    if chosen_by is not None:
        best = max(sorted(strengths), key=lambda strength: accuracy(strength, chosen_by))
    return accuracy(best, queries)
