import numpy as np
import pytest

from dmlviz.ops.neighbor_graph import nearest_others, prepare, query


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)


def squared_distances(a, b):
    return np.square(a[:, None].astype(np.float64) - b[None]).sum(axis=2)


def test_neighbors_are_those_of_all_pairs(points):
    apart = squared_distances(points, points)
    np.fill_diagonal(apart, np.inf)
    squared, found = nearest_others(points, 7)
    assert (found == np.argsort(apart, axis=1)[:, :7]).all()
    np.testing.assert_allclose(squared, np.sort(apart, axis=1)[:, :7], rtol=1e-5)


def test_a_point_is_never_its_own_neighbor_and_its_duplicates_are(points):
    points[20:40] = points[20]
    squared, found = nearest_others(points, 5)
    assert (found != np.arange(60)[:, None]).all()
    assert (squared[20:40] == 0).all()
    assert ((found[20:40] >= 20) & (found[20:40] < 40)).all()


def test_some_rows_have_the_neighbors_that_they_have_among_all(points):
    rows = np.array([3, 17, 44])
    for some, all_rows in zip(nearest_others(points, 4, rows=rows), nearest_others(points, 4), strict=True):
        assert (some == all_rows[rows]).all()


def test_small_distances_far_from_the_origin_are_exact():
    points = np.float32(1000) + np.arange(8, dtype=np.float32)[:, None] / 1024
    squared, _ = nearest_others(prepare(points, "euclidean"), 1)
    np.testing.assert_allclose(np.sqrt(squared), 1 / 1024, rtol=1e-4)


def test_the_order_by_chords_is_the_order_by_cosine(points):
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    cosine = 1 - unit @ unit.T
    np.fill_diagonal(cosine, np.inf)
    squared, found = nearest_others(prepare(points, "cosine"), 6)
    assert (found == np.argsort(cosine, axis=1)[:, :6]).all()
    np.testing.assert_allclose(squared / 2, np.sort(cosine, axis=1)[:, :6], atol=1e-6)


def test_a_zero_vector_is_finite_by_cosine(points):
    points[0] = 0
    assert np.isfinite(nearest_others(prepare(points, "cosine"), 3)[0]).all()


def test_neighbors_of_new_points_are_those_of_all_pairs(points):
    new = np.random.default_rng(1).standard_normal((9, 5)).astype(np.float32)
    apart = squared_distances(new, points)
    squared, found = query(new, points, 4)
    assert (found == np.argsort(apart, axis=1)[:, :4]).all()
    np.testing.assert_allclose(squared, np.sort(apart, axis=1)[:, :4], rtol=1e-5)
