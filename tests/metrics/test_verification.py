"""Verification scores equal scikit-learn's and slow loops."""

import numpy as np
import pytest

from dmlviz.metrics.inputs import read
from dmlviz.metrics.verification import best_threshold, pairs, scores, verify_pairs


def judged(n=400, shift=1.0, seed=0, grid=None):
    rng = np.random.default_rng(seed)
    same = rng.random(n) < 0.5
    distances = rng.normal(size=n) + shift * ~same + 5
    return (np.round(distances * grid) / grid if grid else distances), same


def test_the_equal_error_rate_is_where_both_errors_are_equal():
    distances, same = judged(n=4000)
    thresholds = np.sort(distances)
    missed = np.array([(distances[same] > t).mean() for t in thresholds])
    let_in = np.array([(distances[~same] <= t).mean() for t in thresholds])
    nearest = np.abs(missed - let_in).argmin()
    assert verify_pairs(distances, same)["eer"] == pytest.approx((missed[nearest] + let_in[nearest]) / 2, abs=1e-3)


@pytest.mark.parametrize("grid", [None, 1, 4])
def test_false_positives_are_counted_at_the_first_threshold_that_recalls_95_percent(grid):
    distances, same = judged(n=1000, grid=grid)
    threshold = next(t for t in np.sort(distances) if (distances[same] <= t).mean() >= 0.95)
    assert verify_pairs(distances, same)["fpr_at_95_recall"] == pytest.approx((distances[~same] <= threshold).mean())


def test_points_of_the_curve_that_lie_on_a_line_count_too():
    distances, same = np.repeat(np.arange(20.0), 2), np.tile([True, False], 20)
    assert verify_pairs(distances, same)["fpr_at_95_recall"] == 0.95


@pytest.mark.parametrize("grid", [None, 2])
def test_the_best_threshold_equals_the_loop_over_all_of_them(grid):
    distances, same = judged(n=120, grid=grid)
    values = np.unique(distances)
    candidates = [values[0] - 1, *((values[1:] + values[:-1]) / 2), values[-1] + 1]
    accuracies = [((distances < t) == same).mean() for t in candidates]
    assert best_threshold(distances, same) == candidates[int(np.argmax(accuracies))]


def test_ten_fold_accuracy_is_near_the_best_possible_and_never_uses_the_judged_fold():
    distances, same = judged(n=4000, shift=2.0)
    best = ((distances < best_threshold(distances, same)) == same).mean()
    got = verify_pairs(distances, same)["accuracy_10_fold"]
    assert best - 0.02 < got <= best


def test_separate_pairs_are_judged_without_error():
    distances, same = judged(shift=100.0)
    expected = {"roc_auc": 1, "eer": 0, "fpr_at_95_recall": 0, "accuracy_10_fold": 1}
    assert verify_pairs(distances, same) == pytest.approx(expected)


def test_all_positive_pairs_are_taken_once_while_there_are_few():
    classes = np.array([0, 1, 0, 1, 2, 0])
    first, second, same = pairs(classes, most=100)
    got = {tuple(sorted(pair)) for pair in zip(first[same].tolist(), second[same].tolist(), strict=True)}
    assert got == {(0, 2), (0, 5), (2, 5), (1, 3)}
    assert same.sum() == (~same).sum() == 4
    assert (classes[first[~same]] != classes[second[~same]]).all()


@pytest.mark.parametrize("classes", [np.arange(3000) % 7, np.r_[np.zeros(2990), np.ones(10)].astype(int)])
def test_drawn_pairs_are_what_they_say_and_as_many_as_asked_for(classes):
    first, second, same = pairs(classes, most=500)
    assert same.sum() == (~same).sum() == 500
    assert (first != second).all()
    assert ((classes[first] == classes[second]) == same).all()


def test_every_pair_is_as_likely_as_any():
    classes = np.repeat([0, 1], [30, 10])
    drawn = np.zeros((40, 40))
    for seed in range(40):
        first, second, _ = pairs(classes, most=100, seed=seed)
        np.add.at(drawn, (np.minimum(first, second), np.maximum(first, second)), 1)
    within = drawn[:30, :30].sum() / (30 * 29 / 2), drawn[30:, 30:].sum() / (10 * 9 / 2)
    assert within[0] == pytest.approx(within[1], rel=0.15)


@pytest.mark.parametrize("labels", [[0] * 5, range(5), [0]])
def test_without_pairs_of_both_kinds_there_is_nothing_to_judge(labels):
    got = scores(read(np.random.default_rng(0).normal(size=(len(labels), 2)), list(labels)))
    assert all(np.isnan(value) for value in got.values())


def test_one_pair_of_each_kind_has_a_roc_area_but_no_folds():
    got = scores(read([[0.0], [1.0], [5.0]], [0, 0, 1]))
    assert got["roc_auc"] == 1
    assert np.isnan(got["accuracy_10_fold"])
