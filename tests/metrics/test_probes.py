"""kNN and linear probes of frozen embeddings."""

import numpy as np
import pytest

from dmlviz.errors import UserError
from dmlviz.metrics.probes import knn_probe_accuracy, linear_probe_accuracy


def clouds(seed, n=60, noise=0.8):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) * noise + 2 * np.eye(4)[labels], labels


def test_the_vote_is_that_of_a_loop():
    train, train_labels = clouds(0)
    points, labels = clouds(1)
    right = 0
    for point, label in zip(points, labels, strict=True):
        nearest = train_labels[np.argsort(((train - point) ** 2).sum(axis=1))[:5]].tolist()
        right += max(nearest, key=lambda name: (nearest.count(name), -nearest.index(name))) == label
    assert knn_probe_accuracy(points, labels + 7, train, train_labels + 7) == right / len(points)


def test_the_linear_probe_is_a_regression_chosen_on_validation_images():
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    train, validation, (points, labels) = clouds(0, 30), clouds(1), clouds(2, 300)
    scaler = StandardScaler().fit(train[0])
    accuracies = {}
    for strength in (1e-3, 1.0, 100.0):
        probe = LogisticRegression(C=strength, max_iter=200).fit(scaler.transform(train[0]), train[1])
        accuracies[strength] = [
            probe.score(scaler.transform(part[0]), part[1]) for part in (validation, (points, labels))
        ]
    expected = max(accuracies.values(), key=lambda pair: pair[0])[1]
    found = linear_probe_accuracy(points, labels, train, validation, strengths=(1e-3, 1.0, 100.0))
    assert found == pytest.approx(expected)
    assert linear_probe_accuracy(points, labels, train) == pytest.approx(accuracies[1.0][1])


def test_what_cannot_be_probed():
    points, labels = clouds(0)
    with pytest.raises(UserError, match="one class"):
        linear_probe_accuracy(points, labels, (points, 0 * labels))
    with pytest.raises(UserError, match="k lies between 1 and the 3"):
        knn_probe_accuracy(points, labels, points[:3], labels[:3])
    broken = np.full_like(points, np.nan)
    assert np.isnan(knn_probe_accuracy(points, labels, broken, labels))
    assert np.isnan(linear_probe_accuracy(points, labels, (broken, labels)))
