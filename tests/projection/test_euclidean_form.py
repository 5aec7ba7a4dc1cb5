import numpy as np
import pytest

from dmlviz.ops.nearest_neighbors import EuclideanSearch
from dmlviz.projection.euclidean_form import prepare


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)


def test_small_distances_far_from_the_origin_are_exact():
    points = np.float32(1000) + np.arange(8, dtype=np.float32)[:, None] / 1024
    squared, _ = EuclideanSearch(prepare(points, "euclidean")).others(1)
    np.testing.assert_allclose(np.sqrt(squared), 1 / 1024, rtol=1e-4)


def test_the_order_by_chords_is_the_order_by_cosine(points):
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    cosine = 1 - unit @ unit.T
    np.fill_diagonal(cosine, np.inf)
    squared, found = EuclideanSearch(prepare(points, "cosine")).others(6)
    assert (found == np.argsort(cosine, axis=1)[:, :6]).all()
    np.testing.assert_allclose(squared / 2, np.sort(cosine, axis=1)[:, :6], atol=1e-6)


def test_a_zero_vector_is_finite_by_cosine(points):
    points[0] = 0
    assert np.isfinite(EuclideanSearch(prepare(points, "cosine")).others(3)[0]).all()
