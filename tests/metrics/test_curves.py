"""The curves agree with the scores, with scikit-learn, and with plain loops."""

import numpy as np
import pytest
from sklearn import metrics as sklearn

from dmlviz import metrics
from dmlviz.errors import UserError
from dmlviz.metrics import curves, verification
from dmlviz.metrics.distance_histograms import distance_histogram
from dmlviz.metrics.inputs import read
from dmlviz.metrics.verification import pair_distances


def embedded(n=300, d=5, classes=6, grid=None, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    points = rng.normal(size=(classes, d))[labels] + rng.normal(size=(n, d))
    return (np.round(points * grid) / grid if grid else points).astype(np.float32), labels


@pytest.mark.parametrize("grid", [None, 1])
def test_recall_at_k_equals_the_plain_loop_over_queries(grid):
    points, labels = embedded(n=80, grid=grid)
    found = []
    for i in range(len(points)):
        others = [j for j in range(len(points)) if j != i]
        # Of equally near ones the irrelevant comes first; coordinates on a grid have equal distances.
        key = {j: (((points[i] - points[j]).astype(float) ** 2).sum(), labels[j] == labels[i]) for j in others}
        ranked = sorted(others, key=key.__getitem__)
        found.append(1 + next(rank for rank, j in enumerate(ranked) if labels[j] == labels[i]))
    got = curves.recall_at_k(points, labels, most=30)
    assert got.recall.tolist() == [np.mean(np.array(found) <= k) for k in range(1, 31)]
    assert got.ks.tolist() == list(range(1, 31))


@pytest.mark.parametrize("grid", [None, 1])
def test_recall_at_k_is_to_the_last_digit_what_the_table_says(grid):
    points, labels = embedded(grid=grid)
    labels[0] = 99
    scores = metrics.evaluate(points, labels, ks=(1, 5, 10, 50))
    got = curves.recall_at_k(points, labels)
    for k in (1, 5, 10, 50):
        assert got.recall[k - 1] == scores[f"recall_at_{k}"] == scores[f"cmc_at_{k}"]
    assert (got.queries, got.left_out) == (scores["queries"], scores["queries_left_out"]) == (299, 1)


def test_recall_ends_where_there_are_no_more_images():
    got = curves.recall_at_k([[0.0], [1.0], [5.0]], [0, 1, 0])
    assert got.recall.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("grid", [None, 1])
@pytest.mark.parametrize("most", [500, 50_000])
def test_the_area_below_the_roc_is_to_the_last_digit_the_score(grid, most, monkeypatch):
    points, labels = embedded(grid=grid)
    monkeypatch.setattr(verification.scores, "__defaults__", (most, 0))
    got = curves.roc(points, labels, most)
    assert got.area == metrics.evaluate(points, labels)["roc_auc"]
    assert got.pairs == min(most, got.of[0])


@pytest.mark.parametrize("grid", [None, 1])
def test_the_roc_is_that_of_scikit_learn(grid):
    points, labels = embedded(grid=grid)
    distances, same, unit = pair_distances(read(points, labels), 2000)
    got = curves.roc(points, labels, most=2000)
    false_positives, recall, thresholds = sklearn.roc_curve(same, -distances, drop_intermediate=False)
    assert np.array_equal(got.false_positives, false_positives)
    assert np.array_equal(got.recall, recall)
    assert np.array_equal(got.thresholds, -thresholds * unit)
    assert got.area == pytest.approx(sklearn.roc_auc_score(same, -distances), abs=1e-12)


@pytest.mark.parametrize("grid", [None, 1])
def test_precision_over_recall_is_that_of_scikit_learn(grid):
    points, labels = embedded(grid=grid)
    distances, same, _ = pair_distances(read(points, labels), 2000)
    got = curves.precision_recall(points, labels, most=2000)
    precision, recall, _ = sklearn.precision_recall_curve(same, -distances)
    np.testing.assert_allclose(got.precision, precision[:-1][::-1], rtol=1e-12)
    np.testing.assert_allclose(got.recall, recall[:-1][::-1], rtol=1e-12)
    assert got.average_precision == pytest.approx(sklearn.average_precision_score(same, -distances))


@pytest.mark.parametrize(("n", "classes", "offset"), [(150, 4, 0), (90, 1, 0), (150, 4, 1000), (1100, 3, 0)])
def test_every_pair_is_counted_once_in_the_bin_of_its_distance(n, classes, offset):
    points, labels = embedded(n=n, classes=classes, grid=1)
    got = distance_histogram(points + offset, labels, bins=37)
    assert len(got.same) <= 37
    assert np.diff(got.edges) == pytest.approx(np.full(len(got.same), got.edges[1]))
    first, second = np.triu_indices(n, 1)
    distances = np.linalg.norm((points[first] - points[second]).astype(float), axis=1)
    same = labels[first] == labels[second]
    assert got.same.tolist() == np.histogram(distances[same], got.edges)[0].tolist()
    assert got.different.tolist() == np.histogram(distances[~same], got.edges)[0].tolist()
    assert got.edges[-2] <= distances.max() <= got.edges[-1]


def test_a_collapsed_space_has_all_pairs_in_the_first_bin():
    got = distance_histogram(np.ones((5, 2)), [0, 0, 0, 1, 1])
    assert (got.same.tolist(), got.different.tolist()) == ([4], [6])
    assert got.edges[1] > 0


def test_a_collapsed_space_recalls_nothing_before_all_others_are_seen():
    got = curves.recall_at_k(np.ones((5, 2)), [0, 0, 0, 1, 1])
    assert got.recall.tolist() == [0, 0, 3 / 5, 1]


@pytest.mark.parametrize("on_sphere", [False, True])
def test_scores_by_dimension_are_those_of_an_embedding_that_is_cut_off(on_sphere):
    points, labels = embedded(n=2100, d=6)
    if on_sphere:
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    got = curves.scores_by_dimension(points, labels)
    assert got.dimensions.tolist() == ([2, 4, 6] if on_sphere else [1, 2, 4, 6])
    assert got.queries == 2000
    rows = np.sort(np.random.default_rng(0).permutation(2100)[:2000])
    for length, precision, map_at_r in zip(got.dimensions, got.precision_at_1, got.map_at_r, strict=True):
        short = points[rows, :length]
        scores = metrics.evaluate(
            short / np.linalg.norm(short, axis=1, keepdims=True) if on_sphere else short, labels[rows], clustering=False
        )
        assert (precision, map_at_r) == (scores["precision_at_1"], scores["map_at_r"])
    assert curves.scores_by_dimension(np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]).dimensions.tolist() == [1]


@pytest.mark.parametrize(
    "curve", [curves.recall_at_k, curves.roc, curves.precision_recall, curves.scores_by_dimension, distance_histogram]
)
def test_what_has_no_curve_is_refused_in_a_sentence(curve):
    with pytest.raises(UserError, match="finite"):
        curve([[0.0], [np.nan]], [0, 0])
    with pytest.raises(UserError, match="one label for each embedding"):
        curve([[0.0], [1.0]], [0])


def test_without_pairs_of_both_kinds_there_is_no_roc():
    with pytest.raises(UserError, match="got 3 and 0"):
        curves.roc(np.eye(3), [1, 1, 1])
    with pytest.raises(UserError, match="alone in its class"):
        curves.recall_at_k(np.eye(3), [0, 1, 2])


def test_an_outline_is_nowhere_farther_from_the_curve_than_it_says_and_keeps_its_ends():
    points, labels = embedded(n=1500, grid=None)
    curve = curves.roc(points, labels)
    x, y = curve.false_positives, curve.recall
    drawn = curves.outline(x, y)
    assert (drawn[0], drawn[-1]) == (0, len(x) - 1)
    assert len(drawn) < 600 < len(x)
    # Both rates rise, so that the outline's height at x, or its place at y, says how far a point is from it at most.
    beside = np.abs(np.interp(y, y[drawn], x[drawn]) - x)
    above = np.abs(np.interp(x, x[drawn], y[drawn]) - y)
    assert np.minimum(beside, above).max() <= np.sqrt(2) / 2000
    assert np.array_equal(curves.outline(x, y, tolerance=0, even=0)[[0, -1]], drawn[[0, -1]])
