"""Clusters equal scikit-learn's and a loop over pairs; the shape of the space, against loops and exact cases."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from dmlviz.metrics import evaluate
from dmlviz.metrics.clustering import k_means, normalized_information, pairwise_f1, scores
from dmlviz.metrics.embedding_geometry import scores as shape
from dmlviz.metrics.inputs import read


def clumps(spread, n=200, classes=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    return rng.normal(size=(classes, 4))[labels] * 10 + spread * rng.normal(size=(n, 4)), labels


def test_separate_clumps_are_found():
    assert scores(read(*clumps(0.1))) == pytest.approx({"nmi": 1, "ami": 1, "pairwise_f1": 1})


def test_scores_are_scikit_learns_for_the_clusters_found():
    embeddings, labels = clumps(6.0)
    clusters = k_means(embeddings, 5)
    got = scores(read(embeddings, labels))
    assert 0.05 < got["nmi"] < 0.95
    assert got["nmi"] == pytest.approx(normalized_mutual_info_score(labels, clusters))
    assert got["ami"] == pytest.approx(adjusted_mutual_info_score(labels, clusters))


@pytest.mark.parametrize(("classes", "clusters", "n"), [(2, 1, 9), (3, 5, 40), (10, 10, 2000), (300, 250, 1500)])
def test_information_is_scikit_learns(classes, clusters, n):
    rng = np.random.default_rng(n)
    classes, clusters = np.arange(n) % classes, rng.integers(clusters, size=n)
    clusters = np.where(rng.random(n) < 0.4, clusters, classes % (clusters.max() + 1))
    nmi, ami = normalized_information(classes, clusters)
    assert nmi == pytest.approx(normalized_mutual_info_score(classes, clusters), abs=1e-9)
    assert ami == pytest.approx(adjusted_mutual_info_score(classes, clusters), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "each", "spread"), [(10, 60, 5.0), (200, 8, 5.0)])
def test_clusters_are_as_tight_as_scikit_learns(classes, each, spread):
    rng = np.random.default_rng(classes)
    labels = np.repeat(np.arange(classes), each)
    points = (10 * rng.normal(size=(classes, 16))[labels] + spread * rng.normal(size=(len(labels), 16))).astype("f4")

    def looseness(clusters):
        return sum(points[clusters == one].var(axis=0).sum() * (clusters == one).sum() for one in np.unique(clusters))

    peers = [KMeans(classes, n_init=3, random_state=seed).fit(points).labels_ for seed in range(3)]
    ours = [k_means(points, classes, seed) for seed in range(3)]
    assert np.mean([*map(looseness, ours)]) < 1.01 * np.mean([*map(looseness, peers)])


def test_pairwise_f1_equals_the_loop_over_pairs():
    rng = np.random.default_rng(1)
    classes, clusters = rng.integers(4, size=60), rng.integers(3, size=60)
    pairs = list(combinations(range(60), 2))
    both = sum(classes[i] == classes[j] and clusters[i] == clusters[j] for i, j in pairs)
    precision = both / sum(clusters[i] == clusters[j] for i, j in pairs)
    recall = both / sum(classes[i] == classes[j] for i, j in pairs)
    assert pairwise_f1(classes, clusters) == pytest.approx(2 * precision * recall / (precision + recall))


def test_the_same_seed_gives_the_same_clusters():
    embeddings, _ = clumps(6.0)
    assert (k_means(embeddings, 5, seed=3) == k_means(embeddings, 5, seed=3)).all()


@pytest.mark.parametrize("labels", [[1] * 6, range(6)])
def test_one_class_or_every_image_its_own_has_nothing_to_find(labels):
    got = scores(read(np.random.default_rng(0).normal(size=(6, 3)), list(labels)))
    assert all(np.isnan(value) for value in got.values())


def test_fewer_distinct_points_than_classes_raise_no_warning():
    embeddings = np.repeat([[0.0, 0.0], [1.0, 1.0]], 6, axis=0)
    got = scores(read(embeddings, np.arange(12) % 4))
    assert 0 <= got["nmi"] < 0.5


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
    assert shape(np.concatenate([axes, -axes]))["effective_rank"] == pytest.approx(directions)


def test_effective_rank_of_more_dimensions_than_points_is_at_most_their_number():
    assert 1 < shape(np.random.default_rng(0).normal(size=(4, 300)))["effective_rank"] <= 3


@pytest.mark.parametrize("point", [[0.0, 0.0], [0.1, 0.3], [1e-20, 0.0], [1e20, 3e19]])
def test_equal_points_have_collapsed(point):
    got = shape(np.array([point] * 5, np.float32))
    assert (got["collapsed"], got["effective_rank"]) == (1, 0)


@pytest.mark.parametrize(("spread", "collapsed"), [(1e-4, 1), (1e-3, 1), (0.1, 0), (1.0, 0)])
def test_points_close_together_for_their_distance_from_the_origin_have_collapsed(spread, collapsed):
    points = np.ones(16) / 4 + spread / 4 * np.random.default_rng(0).normal(size=(100, 16))
    assert shape(points)["collapsed"] == collapsed


@pytest.mark.parametrize(("classes", "width", "collapsed"), [(10, 1e-3, 1), (10, 0.2, 0), (2, 1e-3, 0)])
def test_many_classes_on_one_line_have_collapsed_and_two_may_lie_opposite(classes, width, collapsed):
    rng = np.random.default_rng(0)
    labels = np.arange(200) % classes
    points = np.outer(labels + 0.1 * rng.normal(size=200), np.ones(8)) + width * rng.normal(size=(200, 8))
    assert evaluate(points, labels, clustering=False, verification=False)["collapsed"] == collapsed
