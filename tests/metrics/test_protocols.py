"""The field's protocols: folds without common identities, open-set identification, episodes, re-ranking."""

import numpy as np
import pytest

from dmlviz import metrics
from dmlviz.errors import UserError
from dmlviz.metrics.few_shot import episode_accuracies, episodes, nearest_prototype
from dmlviz.metrics.multi_query import pooled_queries
from dmlviz.metrics.reranking import reranked
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


def by_loops(x, k1, k2, balance):
    """The new distances of Zhong et al. 2017, their equations 3 to 12, one set at a time."""
    n = len(x)
    d = np.array([[((a - b) ** 2).sum() for b in x] for a in x])
    d /= d.max(axis=1, keepdims=True)
    order = np.argsort(d - np.eye(n), axis=1, kind="stable")

    def mutual(i, k):
        return {j for j in order[i, : k + 1] if i in order[j, : k + 1]}

    weights = np.zeros((n, n))
    for i in range(n):
        grown = own = mutual(i, k1)
        for j in own:
            other = mutual(j, round(k1 / 2))
            grown = grown | other if len(own & other) > 2 / 3 * len(other) else grown
        for j in grown:
            weights[i, j] = np.exp(-d[i, j])
    weights /= weights.sum(axis=1, keepdims=True)
    weights = np.array([weights[order[i, :k2]].mean(axis=0) for i in range(n)])
    jaccard = [[1 - np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in weights] for a in weights]
    return balance * d + (1 - balance) * np.array(jaccard)


@pytest.mark.parametrize(("k1", "k2", "balance"), [(4, 2, 0.3), (7, 3, 0.05), (5, 1, 0.6), (60, 6, 0.3)])
def test_scores_are_those_of_the_papers_loops(k1, k2, balance):
    rng = np.random.default_rng(k1)
    labels = rng.integers(0, 4, 40)
    x = rng.normal(size=(40, 3)) + 0.8 * np.eye(4, 3)[labels]
    for count in (0, 15):  # among themselves; so many queries, and the others as a gallery
        rows, columns = (slice(count), slice(count, None)) if count else (slice(None), slice(None))
        d = by_loops(x, min(k1, 39), k2, balance)[rows, columns]
        relevant = labels[rows, None] == labels[columns]
        if not count:
            np.fill_diagonal(d, np.inf)
            relevant &= ~np.eye(40, dtype=bool)
        ranked = np.take_along_axis(relevant, np.argsort(d, axis=1), axis=1)
        precision, of_r = [], []
        for hits in ranked[ranked.any(axis=1)]:
            r = int(hits.sum())
            precision.append(float(hits[0]))
            of_r.append(sum(hits[: i + 1].mean() for i in range(r) if hits[i]) / r)
        gallery = {"gallery": x[columns], "gallery_labels": labels[columns]} if count else {}
        found = reranked(x[rows], labels[rows], **gallery, k1=k1, k2=k2, balance=balance)
        assert found["precision_at_1"] == pytest.approx(np.mean(precision))
        assert found["map_at_r"] == pytest.approx(np.mean(of_r))


def test_neighbors_of_neighbors_find_what_a_distance_misses():
    rng, labels = np.random.default_rng(0), np.arange(400) % 20
    x = 0.9 * rng.normal(size=(20, 8))[labels] + 0.6 * rng.normal(size=(400, 8))
    assert reranked(x, labels)["map_at_r"] > metrics.evaluate(x, labels)["map_at_r"] + 0.1  # 0.42 before


def test_equal_points_nan_and_wrong_numbers():
    labels = [0, 0, 1, 1]
    assert reranked(np.zeros((4, 2)), labels)["precision_at_1"] == 0  # a collapsed space has no right answer
    assert np.isnan(reranked([[0.0], [np.nan], [1.0], [2.0]], labels)["map_at_r"])
    with pytest.raises(UserError, match="k1 and k2 from 1"):
        reranked(np.eye(4), labels, k1=0)


@pytest.mark.parametrize(("pool", "of_all"), [("mean", np.mean), ("max", np.max)])
def test_pooled_queries_are_those_of_plain_loops(pool, of_all):
    rng = np.random.default_rng(4)
    labels, cameras = rng.integers(0, 4, 50).astype(float), rng.integers(0, 3, 50)
    labels[[7, 9]] = np.nan  # without a class
    x = rng.normal(size=(50, 3)).astype(np.float32)
    for of_camera in (cameras, 0 * cameras):
        x /= 1 if of_camera.any() else np.linalg.norm(x, axis=1, keepdims=True)
        expected, left = {}, np.flatnonzero(~np.isnan(labels)).tolist()
        while left:
            first = left[0]
            alike = [row for row in left if labels[row] == labels[first] and of_camera[row] == of_camera[first]]
            expected[first] = of_all(x[alike[:3]], axis=0)
            expected[first] /= 1 if of_camera.any() else np.linalg.norm(expected[first])
            left = [row for row in left if row not in alike[:3]]
        points, first = pooled_queries(x, labels, 3, pool, cameras=of_camera if of_camera.any() else None)
        assert sorted(first.tolist()) == sorted(expected)
        np.testing.assert_allclose(points, [expected[row] for row in first.tolist()], rtol=1e-6)
    with pytest.raises(UserError, match="Queries are pooled by mean or max, 1 or more into one; got mean of 0"):
        pooled_queries(x, labels, 0)
