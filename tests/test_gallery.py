"""The gallery finds the exact nearest neighbours, and an item never finds itself."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

from dmlviz import UserError
from dmlviz.gallery import Gallery


def points(n=300, d=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbours_equal_scikit_learns(metric):
    gallery, queries = points(700), points(600, seed=1)
    expected = NearestNeighbors(n_neighbors=7, metric=metric, algorithm="brute").fit(gallery).kneighbors(queries)
    distances, indices = Gallery(gallery, np.zeros(700), metric).search(queries, 7)
    assert (indices == expected[1]).all()
    assert distances == pytest.approx(expected[0], abs=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbours_of_an_item_are_all_others_in_order(metric):
    embeddings = points(50)
    expected = NearestNeighbors(n_neighbors=50, metric=metric, algorithm="brute").fit(embeddings)
    distances, indices = Gallery(embeddings, np.zeros(50), metric).neighbours_of(11, 99)
    assert indices.tolist() == expected.kneighbors(embeddings[11:12])[1][0][1:].tolist()
    assert (np.diff(distances) >= 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_items_3e_5_of_the_radius_apart_keep_their_order(metric):
    rng = np.random.default_rng(0)
    tight = (np.eye(2, 64)[rng.integers(2, size=600)] + 3e-5 * rng.normal(size=(600, 64))).astype(np.float32)
    items = tight[rng.integers(600, size=800)]
    wide = items.astype(np.float64)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True) if metric == "cosine" else 1
    distances, found = Gallery(items, np.zeros(800), metric).search(items[:50], 9)
    every = np.square(wide[:50, None] - wide).sum(axis=2)
    every = every / 2 if metric == "cosine" else np.sqrt(every)
    assert distances == pytest.approx(np.sort(every, axis=1)[:, :9], rel=1e-5)
    for row, far in zip(found, distances, strict=True):
        assert all(a < b for a, b, x, y in zip(row, row[1:], far, far[1:], strict=False) if x == y)


def test_by_cosine_zero_vectors_take_nobodys_place():
    directions = np.stack([np.cos(np.arange(1, 90) / 45), np.sin(np.arange(1, 90) / 45)], axis=1)
    gallery = Gallery(np.concatenate([np.zeros((40, 2)), directions]), np.zeros(129), "cosine")
    distances, found = gallery.search([[1.0, 0.0], [0.0, 0.0]], 3)
    assert found.tolist() == [[40, 41, 42], [0, 1, 2]]
    assert distances[1].tolist() == [1, 1, 1]
    _, found = gallery.search([[-1.0, 0.0]], 22)
    assert found[0].tolist() == [*range(128, 109, -1), 0, 1, 2]  # those beyond 90° first, and zero vectors at 90°


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_an_item_leaves_itself_out_and_keeps_its_duplicates(metric):
    embeddings = np.concatenate([points(20), points(20)[:5], points(20)[:5]])
    gallery = Gallery(embeddings, np.arange(30), metric)
    for item in (0, 20, 25):
        distances, indices = gallery.neighbours_of(item, 3)
        assert indices[:2].tolist() == [other for other in (0, 20, 25) if other != item]
        assert (distances[:2] == 0).all()
        assert distances[2] > 0


@pytest.mark.parametrize("n", [5, 40, 400])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_where_all_items_are_equal_nobody_is_their_own_neighbour(n, metric):
    gallery = Gallery(np.ones((n, 4)), np.zeros(n), metric)
    for item in (0, n // 2, n - 1):
        distances, indices = gallery.neighbours_of(item, 4)
        assert len(indices) == 4
        assert item not in indices
        assert (distances == 0).all()


def test_of_equally_near_items_the_earlier_comes_first():
    gallery = Gallery([[1.0], [-1.0], [3.0], [1.0]], [0, 0, 0, 0])
    distances, indices = gallery.search([0.0], 4)
    assert indices.tolist() == [[0, 1, 3, 2]]
    assert distances.tolist() == [[1, 1, 1, 3]]


def test_distances_stay_exact_far_from_the_origin():
    grid = np.round(points(200) * 64) / 64
    _, near = Gallery(grid, np.zeros(200)).search(grid[:20], 5)
    distances, far = Gallery(grid + 1000, np.zeros(200)).search(grid[:20] + 1000, 5)
    assert (near == far).all()
    exact = np.linalg.norm(grid[:20, None] - grid[far], axis=2)
    assert distances == pytest.approx(exact, abs=1e-4)


def test_by_cosine_only_directions_count_and_a_zero_vector_is_at_distance_one():
    gallery = Gallery([[5.0, 0.0], [0.0, 1e-20], [-1e20, 0.0], [0.0, 0.0]], range(4), "cosine")
    distances, indices = gallery.search([[1e-3, 0.0]], 4)
    assert indices.tolist() == [[0, 1, 3, 2]]
    assert distances == pytest.approx(np.array([[0, 1, 1, 2]]))
    assert gallery.search([[0.0, 0.0]], 4)[0].tolist() == [[1, 1, 1, 1]]


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_tiny_and_huge_embeddings_keep_their_neighbours(scale):
    embeddings = points(100)
    distances, indices = Gallery(embeddings, np.zeros(100)).search(embeddings[:9], 4)
    scaled, same = Gallery(embeddings * scale, np.zeros(100)).search(embeddings[:9] * scale, 4)
    assert (same == indices).all()
    assert scaled / scale == pytest.approx(distances, rel=1e-5)


def test_more_neighbours_than_items_are_all_items():
    gallery = Gallery(points(3), [0, 1, 2])
    assert gallery.search(points(2, seed=1), 10)[1].shape == (2, 3)
    assert gallery.neighbours_of(0, 10)[1].shape == (2,)
    assert Gallery(points(1), [0]).neighbours_of(0, 5)[1].shape == (0,)


def test_no_queries_give_no_rows():
    assert Gallery(points(3), [0, 1, 2]).search(np.zeros((0, 8)), 2)[1].shape == (0, 2)


def test_torch_queries_are_taken():
    embeddings = points(40)
    gallery = Gallery(torch.from_numpy(embeddings), torch.arange(40))
    assert gallery.search(torch.from_numpy(embeddings).requires_grad_(), 1)[1][:, 0].tolist() == list(range(40))
    assert gallery.labels.tolist() == list(range(40))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Gallery(np.zeros((0, 3)), []), "n × d"),
        (lambda: Gallery(np.zeros(3), [1]), "n × d"),
        (lambda: Gallery([[1.0], [np.nan]], [0, 1]), "in 1 rows"),
        (lambda: Gallery([[1.0], [2.0]], [0]), "one label per embedding"),
        (lambda: Gallery([[1.0]], [0], "manhattan"), "euclidean or cosine"),
        (lambda: Gallery([[1.0]], [0]).search([[1.0, 2.0]], 1), "1 dimensions; got 2"),
        (lambda: Gallery([[1.0]], [0]).search([[np.inf]], 1), "finite"),
        (lambda: Gallery([[1.0]], [0]).search([[1.0]], 0), "from 1"),
        (lambda: Gallery([[1.0]], [0]).neighbours_of(1, 1), "0 to 0; got 1"),
        (lambda: Gallery([[1.0]], [0]).neighbours_of(-1, 1), "0 to 0; got -1"),
    ],
)
def test_wrong_input_is_a_sentence(call, said):
    with pytest.raises(UserError, match=said):
        call()


def test_the_gallery_loads_no_torch():
    code = "import sys, dmlviz.gallery; print({'torch', 'sklearn'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
