"""Near points keep their distances and equal points are ties, whatever their type and number of dimensions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlviz.metrics import evaluate, evaluate_per_query
from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.ops.squared_distances import SquaredDistances, first_of_equals, rescale

KINDS = [np.float32, np.float64]


def clusters(n=400, d=64, classes=4, apart=1.0, spread=0.1, seed=0):
    """Points on the unit sphere: class centers so far apart, points so far about them."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    points = rng.normal(size=d) + (apart * rng.normal(size=(classes, d))[labels] + spread * rng.normal(size=(n, d)))
    return points / np.linalg.norm(points, axis=1, keepdims=True), labels


def two_ends(kind, n=300):
    """Two tight pairs of classes at opposite ends of the space: no center is near all of them."""
    points, labels = clusters(n, apart=3e-4, spread=3e-5)
    side = np.where(labels < 2, 1.0, -1.0)
    return (points * side[:, None]).astype(kind), labels


def exact(a, b):
    return np.square(a[:, None].astype(np.longdouble) - b[None]).sum(axis=2).astype(np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_classes_3e_4_of_the_radius_apart_are_told_apart(kind):
    points, labels = two_ends(kind)
    assert evaluate(points, labels, clustering=False)["precision_at_1"] == 1
    assert (labels[evaluate_per_query(points, labels).nearest] == labels).all()
    half = len(points) // 2
    assert evaluate(points[:half], labels[:half], points[half:], labels[half:])["precision_at_1"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_mean_distances_of_tight_classes_equal_the_loop(kind):
    points, labels = two_ends(kind)
    apart = np.sqrt(exact(points, points))
    same = (labels[:, None] == labels) & ~np.eye(len(labels), dtype=bool)
    got = evaluate(points, labels, clustering=False)
    assert got["mean_positive_distance"] == pytest.approx(apart[same].mean(), rel=1e-6)
    assert got["mean_negative_distance"] == pytest.approx(apart[labels[:, None] != labels].mean(), rel=1e-6)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 99), st.integers(1, 70), st.floats(-9, 0), st.floats(-6, 3), st.sampled_from(KINDS))
def test_every_distance_is_right_relative_to_itself(seed, d, spread, offset, kind):
    points, _ = clusters(60, d, 3, spread=10**spread, seed=seed)
    points = (points + 10**offset).astype(kind)
    scaled, _, unit = rescale(points, points)
    got = SquaredDistances(scaled, scaled, np.dtype(kind)).of(slice(0, 60)) * unit**2
    assert got == pytest.approx(exact(points, points), rel=1e-5, abs=0)


@settings(max_examples=40)
@given(st.data(), st.sampled_from(KINDS), st.sampled_from([1, 2, 3, 7, 64, 65]))
def test_equal_points_are_equally_far_to_the_last_bit(data, kind, d):
    which = np.array(data.draw(st.lists(st.integers(0, 11), min_size=2, max_size=60)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    points = rng.normal(size=(12, d)).astype(kind)[which]
    queries = np.concatenate([points, rng.normal(size=(5, d)).astype(kind)])
    scaled = rescale(queries, points)
    got = SquaredDistances(*scaled[:2], np.dtype(kind)).of(np.arange(len(queries)))
    first = first_of_equals(points.astype(np.float64))
    assert first.tolist() == [which.tolist().index(one) for one in which]
    assert (got == got[:, first]).all()
    assert ((got[: len(which)] == 0) == (which[:, None] == which)).all()


def test_zero_and_minus_zero_are_equal():
    assert first_of_equals(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])).tolist() == [0, 0, 2]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 64, 67])
def test_among_duplicates_the_irrelevant_come_first(kind, d):
    rng = np.random.default_rng(0)
    which, labels = rng.integers(300, size=597), rng.integers(4, size=597)
    points = rng.normal(size=(300, d)).astype(kind)[which]
    got = evaluate(points, labels, clustering=False, verification=False)
    ranks = []
    for i in range(597):
        others = np.delete(np.arange(597), i)
        apart = exact(points[i : i + 1], points[others])[0].round(9)
        ranks.append(labels[others][np.lexsort((labels[others] == labels[i], apart))].tolist().index(labels[i]) + 1)
    assert got["precision_at_1"] == pytest.approx(np.mean(np.array(ranks) == 1), abs=1e-12)
    assert got["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)), abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 99), st.sampled_from([1, 3, 64]), st.floats(-8, 0), st.booleans(), st.sampled_from(KINDS))
def test_the_nearest_are_the_nearest_of_tight_spread_out_and_doubled_points(seed, d, spread, outlier, kind):
    rng = np.random.default_rng(seed)
    points, _ = clusters(150, d, 2, spread=10**spread, seed=seed)
    points = (points + rng.normal(size=d))[rng.integers(150, size=200)].astype(kind)
    points[7] *= 1000.0 if outlier else 1.0
    wide = points.astype(np.float64)
    squared, found = EuclideanSearch(wide).search(wide[:30], 9)
    every = np.square(wide[:30, None] - wide[None]).sum(axis=2)
    assert np.take_along_axis(every, found, axis=1) == pytest.approx(np.sort(every, axis=1)[:, :9], rel=1e-9, abs=0)
    assert squared == pytest.approx(np.take_along_axis(every, found, axis=1), rel=1e-9, abs=0)
    again = first_of_equals(wide)[found]
    equal = np.diff(again, axis=1) == 0
    assert (np.diff(found, axis=1)[equal] > 0).all()
    single, _ = EuclideanSearch(points).search(points[:30], 9)
    assert single == pytest.approx(squared, rel=1e-4, abs=0)
