"""The field's protocols: folds without common identities, open-set identification, episodes."""

import numpy as np
import pytest

from dmlviz.errors import UserError
from dmlviz.metrics.few_shot import episode_accuracies, episodes, nearest_prototype
from dmlviz.metrics.verification import area, identification, operating_points
from dmlviz.metrics.verification_folds import (
    fold_accuracy,
    fold_pairs,
    recall_at_false_positives,
    resample_identities,
    weighted_operating_points,
)

LABELS = np.repeat(np.arange(40) + 700, 4)


def test_folds_never_share_an_identity_and_pairs_are_what_they_say() -> None:
    pairs = fold_pairs(LABELS, same=20, different=50, seed=3)
    folds_of: dict[int, set[int]] = {}
    for first, second, same, fold in zip(pairs.first, pairs.second, pairs.same, pairs.fold, strict=True):
        assert first != second
        assert (LABELS[first] == LABELS[second]) == same
        for image in (first, second):
            folds_of.setdefault(int(LABELS[image]), set()).add(int(fold))
    assert all(len(folds) == 1 for folds in folds_of.values())
    assert np.bincount(pairs.fold[pairs.same]).tolist() == [20] * 10
    assert np.bincount(pairs.fold[~pairs.same]).tolist() == [50] * 10
    same = {tuple(sorted(pair)) for pair in zip(pairs.first[pairs.same], pairs.second[pairs.same], strict=True)}
    assert len(same) == 200, "a pair of one identity comes once"


def test_too_few_identities_are_one_sentence() -> None:
    with pytest.raises(UserError, match="Each of 10 folds needs two identities"):
        fold_pairs(np.repeat(np.arange(8), 4), same=1, different=1)


def test_the_threshold_of_a_fold_comes_from_the_other_folds() -> None:
    pairs = fold_pairs(LABELS, same=20, different=20)
    distances = np.where(pairs.same, 1.0, 3.0)
    distances[pairs.fold == 0] += 10  # there everything is far away, which only its own threshold would know
    found = fold_accuracy(distances, pairs)
    assert found.threshold[0] == 2.0
    assert found.accuracy[0] == 0.5
    assert found.accuracy[1:].min() > 0.9


def test_the_recall_at_a_rate_is_the_best_that_the_rate_allows() -> None:
    distances = np.array([1.0, 2, 3, 4, 5, 6])
    same = np.array([True, False, True, True, False, False])
    false_positives, recall, _ = operating_points(distances, same)
    rates = np.array([0.0, 0.33, 0.34, 1.0])
    assert recall_at_false_positives(false_positives, recall, rates).tolist() == [1 / 3, 1 / 3, 1, 1]


def test_a_weight_is_a_repetition() -> None:
    rng = np.random.default_rng(0)
    distances, same = np.sort(rng.integers(0, 20, 60)).astype(float), rng.random(60) < 0.5
    weights = rng.integers(0, 4, 60)
    ours = weighted_operating_points(distances, same, weights)
    repeated = operating_points(np.repeat(distances, weights), np.repeat(same, weights))[:2]
    for axis in (0, 1):
        assert set(np.round(repeated[axis], 9)) <= set(np.round(ours[axis], 9))
    assert area(*ours) == pytest.approx(area(*repeated))


def test_a_bootstrap_draws_identities_and_not_pairs() -> None:
    pairs = fold_pairs(LABELS, same=6, different=10)
    weights = resample_identities(LABELS, pairs, np.random.default_rng(0))
    drawn = {}
    for image, weight in zip(pairs.first[pairs.same], weights[pairs.same], strict=True):
        assert drawn.setdefault(LABELS[image], weight) == weight
    for first, second, weight in zip(pairs.first, pairs.second, weights, strict=True):
        if LABELS[first] in drawn and LABELS[second] in drawn and LABELS[first] != LABELS[second]:
            assert weight == drawn[LABELS[first]] * drawn[LABELS[second]]


def test_identification_by_hand() -> None:
    #                     known, right  known, wrong  unknown  known, right  unknown
    distances = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    right = np.array([True, False, True, True, False])  # the third is unknown: what is nearest to it says nothing
    known = np.array([True, True, False, True, False])
    answers = identification(distances, right, known)
    assert answers.thresholds[1:].tolist() == distances.tolist()
    assert answers.false_alarms.tolist() == [0, 0, 0, 0.5, 0.5, 1]
    assert answers.identified == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert answers.closed_accuracy == pytest.approx(2 / 3)
    assert answers.at(0) == pytest.approx(1 / 3)
    assert answers.at(0.5) == pytest.approx(2 / 3)
    assert (answers.threshold_at(0), answers.threshold_at(0.6)) == (0.2, 0.4)
    with pytest.raises(UserError, match="known and unknown probes"):
        identification(distances, right, np.ones(5, bool))


def test_equal_distances_are_one_threshold() -> None:
    answers = identification(np.array([1.0, 1.0]), np.array([True, False]), np.array([True, False]))
    assert answers.false_alarms.tolist() == [0, 1]
    assert answers.at(0.5) == 0


def test_episodes_have_different_classes_and_no_query_among_the_examples() -> None:
    drawn = list(episodes(LABELS, ways=5, shots=1, queries=3, count=20))
    assert len(drawn) == 20
    for episode in drawn:
        assert len(set(episode.classes)) == 5
        images = np.concatenate([episode.support, episode.queries], axis=1)
        assert len(np.unique(images)) == images.size
        assert (LABELS[images] == episode.classes[:, None]).all()
    assert any(not np.array_equal(drawn[0].classes, other.classes) for other in drawn)
    with pytest.raises(UserError, match="need 5 classes of 6 images; got 40 classes, the smallest of 4 images"):
        next(episodes(LABELS, ways=5, shots=2, queries=4, count=1))


def test_queries_go_to_the_nearest_mean_of_the_examples() -> None:
    rng = np.random.default_rng(1)
    embeddings = rng.normal(size=(len(LABELS), 3)).astype(np.float32)
    total = []
    for episode in episodes(LABELS, ways=4, shots=2, queries=2, count=10, seed=5):
        answers = nearest_prototype(embeddings, episode)
        for way in range(4):
            for column, image in enumerate(episode.queries[way]):
                means = [embeddings[examples].mean(axis=0) for examples in episode.support]
                best = min(range(4), key=lambda other: ((embeddings[image] - means[other]) ** 2).sum())
                assert answers[way, column] == best
        total.append((answers == np.arange(4)[:, None]).mean())
    assert episode_accuracies(embeddings, LABELS, 4, 2, 2, 10, seed=5).tolist() == total
