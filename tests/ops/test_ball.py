"""Whatever measures points of a ball: against the arccosh formula, and the same wherever the ball is moved to."""

import pickle

import numpy as np
import pytest
import torch

from dmlviz import metrics
from dmlviz.config import ProjectionConfig
from dmlviz.metrics import curves
from dmlviz.metrics.distance_histograms import distance_histogram, pairs_per_image
from dmlviz.metrics.inputs import read
from dmlviz.metrics.two_sample import pooled_neighbors
from dmlviz.metrics.verification import pair_distances, pairs
from dmlviz.ops.ball import BallPoints, curvature_of, in_ball
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.ops.neighbor_index import exact_table, indexed_table
from dmlviz.ops.pairwise import ball_distance
from dmlviz.ops.pairwise_numpy import RoughDistances, distances
from dmlviz.ops.spaces import PoincareBall
from dmlviz.ops.squared_distances import SquaredDistances, squared_differences
from dmlviz.projection import project
from dmlviz.projection.quality import projection_quality
from dmlviz.runs.point_values import distances_to_centers
from dmlviz.runs.thresholds import threshold_of

C = 0.7
LABELS = np.repeat(np.arange(4), 15)


def points(seed=0, dtype=np.float32):
    """Four classes, some of whose points are at the rim as far as a training may bring them."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(4, 1, 3)) * 1.2 + random.normal(size=(4, 15, 3)) * 0.8
    rows[:, 0] *= 1e3
    return in_ball(PoincareBall(C, 4 / C**0.5).drawn(torch.from_numpy(rows.reshape(60, 3))).numpy().astype(dtype), C)


def moved(x):
    """The isometry y ↦ a ⊕ y (Ungar 2008)."""
    a, y = np.array([[0.4, -0.3, 0.2]]), np.asarray(x, np.float64)
    ay, aa, yy = y @ a.T, (a * a).sum(), (y * y).sum(axis=1, keepdims=True)
    return in_ball(((1 + 2 * C * ay + C * yy) * a + (1 - C * aa) * y) / (1 + 2 * C * ay + C * C * aa * yy), C)


def formula(x, y):
    """D(x, y) = arccosh(1 + 2c‖x − y‖² / ((1 − c‖x‖²)(1 − c‖y‖²))) / √c, pair by pair."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)

    def of(a, b):
        return 1 + 2 * C * ((a - b) ** 2).sum() / ((1 - C * (a**2).sum()) * (1 - C * (b**2).sum()))

    return np.arccosh([[of(a, b) for b in y] for a in x]) / C**0.5


def rough(x):
    found = RoughDistances(x, x)
    assert (np.abs(found.of(slice(0, 60)) - formula(x, x) ** 2) <= found.error[:, None]).all()
    return np.sqrt(found.of(slice(0, 60)))


def ranked(table, x):
    """Distances of a table of neighbors, each where it belongs."""
    full = np.zeros((60, 60))
    np.put_along_axis(full, table.indices, table.distances, axis=1)
    return full


MATRICES = {
    "squared_distances": lambda x: np.sqrt(SquaredDistances(x, x, np.dtype(np.float32)).of(slice(0, 60))),
    "squared_differences": lambda x: np.sqrt(squared_differences(x, x, *np.indices((60, 60)).reshape(2, -1))),
    "rough": rough,
    "pairwise_numpy": lambda x: distances(x, "euclidean"),
    "pairwise_torch": lambda x: ball_distance(torch.from_numpy(np.array(x)), C).numpy(),
    "exact_table": lambda x: ranked(exact_table(x, 59), x),
    "indexed_table": lambda x: ranked(indexed_table(x, 59), x),
    "unsorted": lambda x: ranked(exact_table(x[::-1], 59), x)[::-1, ::-1],
}


@pytest.mark.parametrize("name", MATRICES)
def test_distances_are_those_of_the_formula_up_to_the_rim(name):
    x = points()
    np.testing.assert_allclose(MATRICES[name](x).reshape(60, 60), formula(x, x), rtol=2e-3, atol=2e-3)


def test_neighbors_are_those_of_the_formula_for_plain_queries_too():
    x, queries = points(), np.asarray(points(1))[:7]
    found, indices = NearestNeighbors(x).search(queries, 5)
    expected = formula(queries, x)
    np.testing.assert_allclose(found, np.sort(expected, axis=1)[:, :5], rtol=1e-4)
    np.testing.assert_array_equal(indices, expected.argsort(axis=1)[:, :5])


def test_points_stay_points_but_not_what_is_computed_from_them():
    x = points()
    for same in (x[3:9], x[np.arange(5)], x.astype(float), np.concatenate([x, x]), pickle.loads(pickle.dumps(x))):
        assert curvature_of(same) == C
    for plain in (x - 0, x * 2, x.mean(axis=0), np.linalg.norm(x, axis=1), x @ np.eye(3), np.asarray(x)):
        assert not isinstance(plain, BallPoints)


def scores(x):
    found = metrics.evaluate(x, LABELS, clustering=False)  # where k-means ends hangs on where it begins
    return {name: found[name] for name in found if name not in ("mean_norm", "effective_rank", "collapsed")}


MEASURES = {
    "evaluate": scores,
    "evaluate a gallery": lambda x: metrics.evaluate(x[::2], LABELS[::2], x[1::2], LABELS[1::2])["map_at_r"],
    "reranked": lambda x: metrics.reranked(x, LABELS, k1=6, k2=2),
    "confusion": lambda x: metrics.confusion(x, LABELS)[1],
    "per query": lambda x: metrics.evaluate_per_query(x, LABELS).average_precision_at_r,
    "nearest mean": lambda x: metrics.nearest_mean_accuracy(x, LABELS),
    "pairs": lambda x: pair_distances(read(x, LABELS))[0],
    "roc": lambda x: curves.roc(x, LABELS).area,
    "histogram": lambda x: distance_histogram(x, LABELS).edges[-1] > formula(x, x).max(),
    "pairs of an image": lambda x: pairs_per_image(x, LABELS, 0.5, 1.5, "same"),
    "centers": lambda x: distances_to_centers(x, LABELS),
    "threshold": lambda x: threshold_of(x, LABELS, "all", 0.1).value,
    "two samples": lambda x: pooled_neighbors(x[:30], x[30:]).distances,
    "quality": lambda x: projection_quality(x, np.asarray(points(2))[:, :2]).overall,
    "t-SNE": lambda x: _neighbors("tsne", x),
    "UMAP": lambda x: _neighbors("umap", x),
    "PaCMAP": lambda x: _neighbors("pacmap", x),
}


def _neighbors(method, x):
    fewer = {"perplexity": 15} if method == "tsne" else {}
    table = project(x, ProjectionConfig(method=method, params={"iterations": 250, **fewer})).neighbors
    return table.distances


@pytest.mark.parametrize("name", MEASURES)
def test_moving_the_whole_ball_changes_no_measure(name):
    x = points(dtype=np.float64)
    here, there = MEASURES[name](x), MEASURES[name](moved(x))
    if isinstance(here, dict):
        assert here.keys() == there.keys()
        here, there = ([values[key] for key in here] for values in (here, there))
    np.testing.assert_allclose(np.asarray(there, float), np.asarray(here, float), rtol=1e-4, atol=1e-4)


def test_mean_distances_are_of_the_ball():
    x = points()
    first, second, same = pairs(LABELS, 50_000)
    found, expected = metrics.evaluate(x, LABELS), formula(x, x)[first, second]
    assert found["mean_positive_distance"] == pytest.approx(expected[same].mean(), rel=1e-3)


def test_classes_apart_are_the_clusters():
    assert metrics.evaluate(in_ball(np.repeat(np.asarray(points(4))[::15], 15, 0), C), LABELS)["nmi"] == 1
