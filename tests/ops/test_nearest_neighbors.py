"""The nearest neighbors are exact, those by an index as near as it says, and nothing is its own neighbor."""

import numpy as np
import pytest
import sklearn.neighbors
import torch

from dmlviz.errors import UserError
from dmlviz.ops import all_neighbors
from dmlviz.ops.gallery import Gallery
from dmlviz.ops.nearest_neighbors import EuclideanSearch, NearestNeighbors
from dmlviz.ops.neighbor_index import NeighborIndex, exact_table, indexed_table
from dmlviz.ops.pairwise_numpy import k_smallest


def points(n=300, d=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbors_equal_scikit_learns(metric):
    gallery, queries = points(700), points(600, seed=1)
    expected = (
        sklearn.neighbors.NearestNeighbors(n_neighbors=7, metric=metric, algorithm="brute")
        .fit(gallery)
        .kneighbors(queries)
    )
    distances, indices = NearestNeighbors(gallery, metric).search(queries, 7)
    assert (indices == expected[1]).all()
    assert distances == pytest.approx(expected[0], abs=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbors_of_an_item_are_all_others_in_order(metric):
    embeddings = points(50)
    expected = sklearn.neighbors.NearestNeighbors(n_neighbors=50, metric=metric, algorithm="brute").fit(embeddings)
    distances, (indices,) = NearestNeighbors(embeddings, metric).others(99, [11])
    assert indices.tolist() == expected.kneighbors(embeddings[11:12])[1][0][1:].tolist()
    assert (np.diff(distances) >= 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_items_3e_5_of_the_radius_apart_keep_their_order(metric):
    rng = np.random.default_rng(0)
    tight = (np.eye(2, 64)[rng.integers(2, size=600)] + 3e-5 * rng.normal(size=(600, 64))).astype(np.float32)
    items = tight[rng.integers(600, size=800)]
    wide = items.astype(np.float64)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True) if metric == "cosine" else 1
    distances, found = NearestNeighbors(items, metric).search(items[:50], 9)
    every = np.square(wide[:50, None] - wide).sum(axis=2)
    every = every / 2 if metric == "cosine" else np.sqrt(every)
    assert distances == pytest.approx(np.sort(every, axis=1)[:, :9], rel=1e-5)
    for row, far in zip(found, distances, strict=True):
        assert all(a < b for a, b, x, y in zip(row, row[1:], far, far[1:], strict=False) if x == y)


def test_by_cosine_zero_vectors_take_nobodys_place():
    directions = np.stack([np.cos(np.arange(1, 90) / 45), np.sin(np.arange(1, 90) / 45)], axis=1)
    search = NearestNeighbors(np.concatenate([np.zeros((40, 2)), directions]), "cosine")
    distances, found = search.search([[1.0, 0.0], [0.0, 0.0]], 3)
    assert found.tolist() == [[40, 41, 42], [0, 1, 2]]
    assert distances[1].tolist() == [1, 1, 1]
    _, found = search.search([[-1.0, 0.0]], 22)
    assert found[0].tolist() == [*range(128, 109, -1), 0, 1, 2]  # those beyond 90° first, and zero vectors at 90°


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_an_item_leaves_itself_out_and_keeps_its_duplicates(metric):
    embeddings = np.concatenate([points(20), points(20)[:5], points(20)[:5]])
    search = NearestNeighbors(embeddings, metric)
    for item in (0, 20, 25):
        (distances,), (indices,) = search.others(3, [item])
        assert indices[:2].tolist() == [other for other in (0, 20, 25) if other != item]
        assert (distances[:2] == 0).all()
        assert distances[2] > 0


@pytest.mark.parametrize("n", [5, 40, 400])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_where_all_items_are_equal_nobody_is_their_own_neighbor(n, metric):
    distances, indices = NearestNeighbors(np.ones((n, 4)), metric).others(4)
    first_others = [[other for other in range(5) if other != item][:4] for item in range(n)]
    assert indices.tolist() == first_others
    assert (distances == 0).all()


def test_of_equally_near_items_the_earlier_comes_first():
    search = NearestNeighbors([[1.0], [-1.0], [3.0], [1.0]])
    distances, indices = search.search([0.0], 4)
    assert indices.tolist() == [[0, 1, 3, 2]]
    assert distances.tolist() == [[1, 1, 1, 3]]


def test_distances_stay_exact_far_from_the_origin():
    grid = np.round(points(200) * 64) / 64
    _, near = NearestNeighbors(grid).search(grid[:20], 5)
    distances, far = NearestNeighbors(grid + 1000).search(grid[:20] + 1000, 5)
    assert (near == far).all()
    exact = np.linalg.norm(grid[:20, None] - grid[far], axis=2)
    assert distances == pytest.approx(exact, abs=1e-4)


def test_by_cosine_only_directions_count_and_a_zero_vector_is_at_distance_one():
    search = NearestNeighbors([[5.0, 0.0], [0.0, 1e-20], [-1e20, 0.0], [0.0, 0.0]], "cosine")
    distances, indices = search.search([[1e-3, 0.0]], 4)
    assert indices.tolist() == [[0, 1, 3, 2]]
    assert distances == pytest.approx(np.array([[0, 1, 1, 2]]))
    assert search.search([[0.0, 0.0]], 4)[0].tolist() == [[1, 1, 1, 1]]
    distances, indices = NearestNeighbors([[0.0], [2.0], [0.0], [0.0]], "cosine").others(2)
    assert indices.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1]]
    assert distances.tolist() == [[1, 1]] * 4


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_tiny_and_huge_embeddings_keep_their_neighbors(scale):
    embeddings = points(100)
    distances, indices = NearestNeighbors(embeddings).search(embeddings[:9], 4)
    scaled, same = NearestNeighbors(embeddings * scale).search(embeddings[:9] * scale, 4)
    assert (same == indices).all()
    assert scaled / scale == pytest.approx(distances, rel=1e-5)


def test_more_neighbors_than_items_are_all_items():
    search = NearestNeighbors(points(3))
    assert search.search(points(2, seed=1), 10)[1].shape == (2, 3)
    assert search.others(10)[1].shape == (3, 2)
    assert NearestNeighbors(points(1)).others(5)[1].shape == (1, 0)


def test_no_queries_give_no_rows():
    assert NearestNeighbors(points(3)).search(np.zeros((0, 8)), 2)[1].shape == (0, 2)


def test_torch_queries_are_taken():
    embeddings = points(40)
    search = NearestNeighbors(torch.from_numpy(embeddings))
    assert search.search(torch.from_numpy(embeddings).requires_grad_(), 1)[1][:, 0].tolist() == list(range(40))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: NearestNeighbors(np.zeros((0, 3))), "n × d"),
        (lambda: NearestNeighbors(np.zeros(3)), "n × d"),
        (lambda: NearestNeighbors([[1.0], [np.nan]]), "in 1 rows"),
        (lambda: NearestNeighbors([[1.0]], "manhattan"), "euclidean or cosine"),
        (lambda: NearestNeighbors([[1.0]]).search([[1.0, 2.0]], 1), "1 dimensions; got 2"),
        (lambda: NearestNeighbors([[1.0]]).search([[np.inf]], 1), "finite"),
        (lambda: NearestNeighbors([[1.0]]).search([[1.0]], 0), "from 1"),
        (lambda: NearestNeighbors([[1.0]]).others(1, [1]), r"0 to 0; got \[1\]"),
        (lambda: NearestNeighbors([[1.0]]).others(1, [-1]), r"0 to 0; got \[-1\]"),
    ],
)
def test_wrong_input_is_a_sentence(call, said):
    with pytest.raises(UserError, match=said):
        call()


@pytest.mark.parametrize("k", [1, 7, 60])
def test_the_k_smallest_are_the_first_of_a_stable_sort(k):
    rng = np.random.default_rng(0)
    for rows in (rng.normal(size=(20, 60)), rng.integers(3, size=(20, 60)), np.zeros((2, 60))):
        assert (k_smallest(rows, k) == np.argsort(rows, axis=1, kind="stable")[:, :k]).all()
    some_tied = np.concatenate([rng.normal(size=(3, 60)), np.zeros((2, 60))])[[0, 3, 1, 4, 2]]
    assert (k_smallest(some_tied, k) == np.argsort(some_tied, axis=1, kind="stable")[:, :k]).all()


def test_a_search_in_float32_finds_the_others_of_all_pairs():
    x = points(60, 5)
    apart = np.square(x[:, None].astype(np.float64) - x[None]).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    squared, found = EuclideanSearch(x).others(7)
    assert (found == np.argsort(apart, axis=1)[:, :7]).all()
    assert squared.dtype == np.float32
    np.testing.assert_allclose(squared, np.sort(apart, axis=1)[:, :7], rtol=1e-5)


def test_some_rows_have_the_neighbors_that_they_have_among_all():
    search, rows = EuclideanSearch(points(60, 5)), np.array([3, 17, 44])
    for some, all_rows in zip(search.others(4, rows), search.others(4), strict=True):
        assert (some == all_rows[rows]).all()


def test_a_search_can_be_cancelled():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        EuclideanSearch(points()).others(2, go_on=stop)


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


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 16, 64])
def test_queries_find_the_points_that_an_exact_search_finds(d, monkeypatch):
    points = clusters(n=12_000, d=d)
    index = NeighborIndex(points, 10, 0.95, measured=500)
    assert index.table().measured == 500
    queries = points[:500] + np.float32(1e-2)
    truth, found = EuclideanSearch(points).search(queries, 10)[1], index.search(queries)
    assert (found[:, :, None] == truth[:, None, :]).any(axis=2).mean() > 0.9
    monkeypatch.setattr(all_neighbors, "compiled", lambda load: None)
    np.testing.assert_array_equal(index.search(queries), truth)
    without = index.table()
    np.testing.assert_array_equal(without.indices, exact_table(points, 10).indices)
    assert (without.recall, without.measured) == (1, 0)


def test_a_point_whose_regions_hold_too_few_points_has_all_its_neighbors():
    points = np.concatenate([clusters(n=2_000), 100 + clusters(n=4)])
    table = NeighborIndex(points, 10, 0.5).table()
    np.testing.assert_array_equal(table.indices[-4:], exact_table(points, 10).indices[-4:])


def test_each_rule_finds_what_a_loop_finds() -> None:
    rng = np.random.default_rng(0)
    pictures = {name: rng.normal(size=(count, 4)) for name, count in (("a", 1), ("b", 5), ("c", 3))}
    queries = rng.normal(size=(30, 4))
    for rule in ("nearest", "mean"):
        gallery = Gallery(rule)
        for name, rows in pictures.items():
            gallery.add(name, rows[:1])
            if len(rows) > 1:
                gallery.add(name, rows[1:])
        assert gallery.counts == {"a": 1, "b": 5, "c": 3}
        answers = gallery.ask(queries, threshold=1.0)
        for query, name, distance, accepted in zip(
            queries, answers.names, answers.distances, answers.accepted, strict=True
        ):
            compared = {
                other: np.linalg.norm(query - rows.mean(axis=0))
                if rule == "mean"
                else np.linalg.norm(query - rows, axis=1).min()
                for other, rows in pictures.items()
            }
            assert name == min(compared, key=compared.__getitem__)
            assert distance == pytest.approx(compared[name], rel=1e-6)
            assert accepted == (compared[name] <= 1.0)


def test_who_is_removed_is_no_longer_an_answer_and_who_is_added_is() -> None:
    gallery = Gallery()
    gallery.add("a", [[0.0, 0.0]])
    gallery.add("b", [[1.0, 0.0]])
    assert gallery.ask([[0.9, 0.0]]).names == ("b",)
    gallery.remove("b")
    assert gallery.ask([[0.9, 0.0]]).names == ("a",)
    gallery.add("c", [[0.8, 0.0]])
    assert gallery.ask([[0.9, 0.0]]).names == ("c",)


@pytest.mark.parametrize(
    ("do", "says"),
    [
        (lambda gallery: gallery.add("b", [[1.0]]), r"embeddings, n × 2; got an array of shape \(1, 1\)"),
        (lambda gallery: gallery.add("b", np.zeros((0, 2))), "n × 2"),
        (lambda gallery: gallery.add("b", [[np.nan, 0.0]]), "finite numbers"),
        (lambda gallery: gallery.remove("b"), "holds a; there is no 'b'"),
        (lambda gallery: (gallery.remove("a"), gallery.ask([[0.0, 0.0]])), "empty: add an identity first"),
        (lambda gallery: Gallery("median"), "the nearest picture or the mean; got 'median'"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_done_is_one_sentence(do, says: str) -> None:
    gallery = Gallery()
    gallery.add("a", [[0.0, 0.0]])
    with pytest.raises(UserError, match=says):
        do(gallery)
