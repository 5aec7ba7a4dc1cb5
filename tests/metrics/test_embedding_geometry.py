"""The shape of the space, against loops and exact cases."""

from itertools import combinations

import numpy as np
import pytest

from dmlviz.metrics import evaluate
from dmlviz.metrics.embedding_geometry import scores


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_mean_distances_equal_the_loop_over_pairs(kind):
    rng = np.random.default_rng(0)
    embeddings, labels = rng.normal(size=(70, 5)).astype(kind), rng.integers(4, size=70)
    pairs = list(combinations(range(70), 2))
    for key, same in (("mean_positive_distance", True), ("mean_negative_distance", False)):
        chosen = [pair for pair in pairs if (labels[pair[0]] == labels[pair[1]]) == same]
        expected = np.mean([np.linalg.norm(embeddings[i] - embeddings[j]) for i, j in chosen])
        assert evaluate(embeddings, labels, clustering=False)[key] == pytest.approx(expected, rel=1e-5)


def test_mean_distances_count_singletons_as_negatives_and_survive_an_offset():
    embeddings = np.array([[0.0], [1.0], [3.0], [4.0]], np.float32) + 100
    got = evaluate(embeddings, [0, 0, 1, 2])
    assert got["mean_positive_distance"] == pytest.approx(1.0, abs=1e-4)
    assert got["mean_negative_distance"] == pytest.approx((3 + 4 + 2 + 3 + 1) / 5, abs=1e-4)


def test_equal_points_are_at_distance_exactly_zero():
    embeddings = np.repeat(np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32), 4, axis=0)
    assert evaluate(embeddings, np.repeat([0, 1, 2], 4))["mean_positive_distance"] < 1e-3


@pytest.mark.parametrize("directions", [1, 2, 5])
def test_effective_rank_counts_equally_used_directions(directions):
    axes = np.eye(8)[:directions]
    assert scores(np.concatenate([axes, -axes]))["effective_rank"] == pytest.approx(directions)


def test_effective_rank_equals_the_singular_values_entropy():
    points = np.random.default_rng(0).normal(size=(50, 6)) * [5, 3, 1, 1, 0.1, 0.01]
    values = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    shares = values / values.sum()
    assert scores(points)["effective_rank"] == pytest.approx(np.exp(-(shares * np.log(shares)).sum()))


def test_effective_rank_of_more_dimensions_than_points_is_at_most_their_number():
    assert 1 < scores(np.random.default_rng(0).normal(size=(4, 300)))["effective_rank"] <= 3


@pytest.mark.parametrize("point", [[0.0, 0.0], [0.1, 0.3], [1e-20, 0.0], [1e20, 3e19]])
def test_equal_points_have_collapsed(point):
    got = scores(np.array([point] * 5, np.float32))
    assert (got["collapsed"], got["effective_rank"]) == (1, 0)


@pytest.mark.parametrize(("spread", "collapsed"), [(1e-4, 1), (1e-3, 1), (0.1, 0), (1.0, 0)])
def test_points_close_together_for_their_distance_from_the_origin_have_collapsed(spread, collapsed):
    points = np.ones(16) / 4 + spread / 4 * np.random.default_rng(0).normal(size=(100, 16))
    assert scores(points)["collapsed"] == collapsed


@pytest.mark.parametrize(("classes", "width", "collapsed"), [(10, 1e-3, 1), (10, 0.2, 0), (2, 1e-3, 0)])
def test_many_classes_on_one_line_have_collapsed_and_two_may_lie_opposite(classes, width, collapsed):
    rng = np.random.default_rng(0)
    labels = np.arange(200) % classes
    points = np.outer(labels + 0.1 * rng.normal(size=200), np.ones(8)) + width * rng.normal(size=(200, 8))
    assert evaluate(points, labels, clustering=False, verification=False)["collapsed"] == collapsed


def test_the_mean_norm_is_the_mean_norm():
    points = np.random.default_rng(0).normal(size=(50, 6))
    assert scores(points)["mean_norm"] == pytest.approx(np.linalg.norm(points, axis=1).mean())
