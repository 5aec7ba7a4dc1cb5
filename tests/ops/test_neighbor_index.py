"""All neighbors by an index, against exact search."""

import numpy as np
import pytest

from dmlviz.ops.neighbor_index import exact_table, indexed_table


def clusters(n=3000, d=16, count=30):
    random = np.random.default_rng(0)
    centers = random.normal(size=(count, d)) * 3
    return (centers[random.integers(count, size=n)] + random.normal(size=(n, d))).astype(np.float32)


def test_the_recall_that_is_told_is_that_of_all_rows():
    points = clusters()
    truth, found = exact_table(points, 10), indexed_table(points, 10, wanted=0.5)
    hits = (found.indices[:, :, None] == truth.indices[:, None, :]).any(axis=2)
    assert found.measured == 1000
    assert found.recall == pytest.approx(hits.mean(), abs=0.02)
    np.testing.assert_allclose(found.distances[hits.all(axis=1)], truth.distances[hits.all(axis=1)], rtol=1e-4)
    assert (truth.recall, truth.measured) == (1.0, 0)


def test_lists_are_added_until_the_recall_is_as_wanted():
    points = np.random.default_rng(1).normal(size=(2500, 32)).astype(np.float32)  # no structure: most lists are needed
    assert indexed_table(points, 10, wanted=0.1).recall < 0.9
    assert indexed_table(points, 10).recall > 0.95


def test_no_point_is_its_own_neighbor_but_its_duplicates_are():
    points = np.repeat(clusters(n=50), 40, axis=0)
    table = indexed_table(points, 10)
    assert not (table.indices == np.arange(len(points))[:, None]).any()
    assert (table.distances == 0).all()
    assert table.recall == 1


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scale_and_offset_change_no_neighbor(scale):
    points = clusters(n=1500).astype(np.float64)
    usual, scaled = indexed_table(points, 5), indexed_table(points * scale, 5)
    assert (usual.indices == scaled.indices).mean() > 0.999
    np.testing.assert_allclose(scaled.distances / scale, usual.distances, rtol=1e-3)


def test_few_points_have_all_others_as_neighbors():
    table = indexed_table(clusters(n=12), 11)
    assert (np.sort(table.indices, axis=1) == [[j for j in range(12) if j != i] for i in range(12)]).all()
