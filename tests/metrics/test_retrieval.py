"""Retrieval scores equal the slow loops written from their definitions."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlviz.metrics import confusion, evaluate, retrieval
from dmlviz.metrics import first_hits as module
from dmlviz.metrics.first_hits import first_hits
from dmlviz.metrics.inputs import read, read_query_and_gallery
from dmlviz.metrics.retrieval import rank_gallery, scores
from dmlviz.ops.compiled import compiled
from dmlviz.ops.pairwise_numpy import RoughDistances
from dmlviz.ops.squared_distances import SquaredDistances, rescale

KEYS = ("precision_at_1", "recall_at_1", "recall_at_5", "recall_at_10", "r_precision", "map_at_r", "mrr", "map")


def orders(queries, labels, gallery=None, gallery_labels=None):
    """For each query with a relevant item its label and the others' labels, nearest first, at ties relevant last."""
    itself = gallery is None
    gallery, gallery_labels = (queries, labels) if itself else (gallery, gallery_labels)
    for i, (query, label) in enumerate(zip(queries, labels, strict=True)):
        others = [j for j in range(len(gallery)) if not (itself and i == j)]
        distance = {j: float(np.sum((np.float64(query) - np.float64(gallery[j])) ** 2)) for j in others}
        others.sort(key=lambda j: (distance[j], gallery_labels[j] == label, j))
        found = [gallery_labels[j] for j in others]
        if label in found:
            yield label, found, others


def naive(*data, ks=(1, 5, 10)):
    rows = []
    for label, found, _ in orders(*data):
        hits = [other == label for other in found]
        relevant = sum(hits)
        precision = [sum(hits[: k + 1]) / (k + 1) for k in range(len(hits))]
        near = found[:5]
        most = max(near.count(other) for other in near)
        rows.append(
            {f"recall_at_{k}": any(hits[:k]) for k in ks}
            | {
                "precision_at_1": hits[0],
                "r_precision": sum(hits[:relevant]) / relevant,
                "map_at_r": sum(precision[k] for k in range(relevant) if hits[k]) / relevant,
                "map": sum(precision[k] for k in range(len(hits)) if hits[k]) / relevant,
                "mrr": 1 / (hits.index(True) + 1),
                "knn_accuracy": next(other for other in near if near.count(other) == most) == label,
            }
        )
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def points(n, d, classes, seed=0, pull=1.0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    return (rng.normal(size=(classes, d))[labels] * pull + rng.normal(size=(n, d))).astype(np.float32), labels


@pytest.mark.parametrize("classes", [2, 7, 40])
@pytest.mark.parametrize(("kind", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_every_score_equals_the_naive_loop(classes, kind, tolerance):
    embeddings, labels = points(90, 6, classes)
    expected = naive(embeddings, labels)
    got = evaluate(embeddings.astype(kind), labels)
    assert {key: got[key] for key in expected} == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("classes", [2, 40])
def test_queries_against_a_gallery_equal_the_naive_loop(classes):
    embeddings, labels = points(110, 6, classes)
    data = embeddings[:40], labels[:40], embeddings[40:], labels[40:]
    expected = naive(*data)
    got = evaluate(*data)
    assert {key: got[key] for key in expected} == pytest.approx(expected, abs=1e-4)


@settings(max_examples=60)
@given(st.data())
def test_ties_and_duplicates_equal_the_naive_loop(data):
    n = data.draw(st.integers(2, 14))
    embeddings = np.array(data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=n, max_size=n)), np.float32)
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    if len(set(labels.tolist())) == n:
        labels[0] = labels[1]
    expected = naive(embeddings, labels)
    got = evaluate(embeddings, labels, clustering=False)
    assert {key: got[key] for key in expected} == pytest.approx(expected, abs=1e-12)


def test_the_partial_ranking_gives_what_the_full_one_gives():
    embeddings, labels = points(300, 8, 12, pull=0.1)
    full = evaluate(embeddings, labels, clustering=False)
    part = evaluate(embeddings, labels, clustering=False, full_ranking=False)
    assert full.pop("map") > 0
    assert part == full


@pytest.mark.parametrize(
    ("right", "r_precision", "map_at_r"),
    [([0], 0.10, 0.10), ([0, 9], 0.20, 0.12), ([0, 1], 0.20, 0.20), (range(10), 1.0, 1.0)],
)
def test_the_catalogs_worked_example(right, r_precision, map_at_r):
    first_ten = [0 if place in right else 1 for place in range(10)]
    gallery_labels = np.array(first_ten + [0] * (10 - len(right)) + [1] * 5)
    gallery = np.arange(1, len(gallery_labels) + 1, dtype=np.float32)[:, None]
    got = evaluate([[0.0]], [0], gallery, gallery_labels)
    assert got["r_precision"] == pytest.approx(r_precision)
    assert got["map_at_r"] == pytest.approx(map_at_r)


def test_a_duplicate_of_the_query_counts_and_the_query_itself_does_not():
    embeddings = np.array([[0.0], [0.0], [5.0], [5.1]])
    assert evaluate(embeddings, [0, 0, 1, 1])["precision_at_1"] == 1
    assert evaluate(embeddings, [0, 1, 0, 1])["precision_at_1"] == 0


def test_the_first_of_equal_neighbors_is_the_earlier_one_among_equals():
    ranking = rank_gallery(read(np.zeros((6, 2)), [0, 1, 0, 1, 0, 1]))
    assert ranking.nearest[0].tolist() == [1, 3, 5, 2, 4]
    assert ranking.nearest[3].tolist() == [0, 2, 4, 1, 5]


def test_the_nearest_are_the_nearest():
    embeddings, labels = points(200, 5, 4)
    nearest = rank_gallery(read(embeddings, labels)).nearest
    for found, (_, _, others) in zip(nearest, orders(embeddings, labels), strict=True):
        assert found.tolist() == others[:5]


def test_queries_without_a_relevant_item_are_left_out_and_counted():
    embeddings, labels = points(40, 4, 3)
    lonely = np.concatenate([embeddings, embeddings[:2] + 0.01])
    got = evaluate(lonely, [*labels, 98, 99])
    assert (got["queries"], got["queries_left_out"]) == (40, 2)
    assert got["map_at_r"] == pytest.approx(naive(lonely, [*labels, 98, 99])["map_at_r"])


def test_the_confusion_of_nearest_neighbors_adds_up_to_precision_at_1():
    embeddings, labels = points(200, 5, 4, pull=0.7)
    names, counts = confusion(embeddings, labels * 10 + 3)
    assert names.tolist() == [3, 13, 23, 33]
    assert counts.sum(axis=1).tolist() == np.bincount(labels).tolist()
    assert counts.trace() / counts.sum() == pytest.approx(evaluate(embeddings, labels)["precision_at_1"])


def test_confusion_in_a_gallery_names_the_class_that_was_found():
    names, counts = confusion([[0.0], [1.0]], [5, 6], [[0.1], [0.2], [3.0]], [6, 5, 6])
    assert names.tolist() == [5, 6]
    assert counts.tolist() == [[0, 1], [1, 0]]


def test_torch_and_numpy_give_the_same_scores():
    embeddings, labels = points(80, 8, 5)
    expected = evaluate(embeddings, labels)
    assert evaluate(torch.from_numpy(embeddings).requires_grad_(), torch.from_numpy(labels)) == expected
    half = torch.from_numpy(embeddings).bfloat16()
    assert evaluate(half, labels) == evaluate(half.float(), labels)


@pytest.fixture(scope="module")
def many():
    """300 points, their classes, and what the loops make of them."""
    embeddings, labels = points(300, 8, 5)
    return embeddings, labels, naive(embeddings, labels)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(many, threads, monkeypatch):
    monkeypatch.setattr("dmlviz.ops.squared_distances._CHUNK_ROWS", 13)
    monkeypatch.setattr("dmlviz.ops.squared_distances.available_threads", lambda: threads)
    embeddings, labels, expected = many
    got = evaluate(embeddings.astype(np.float64), labels)
    assert {key: got[key] for key in expected} == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("offset", [0.0, 100.0, -1e4])
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e18])
def test_an_offset_and_a_scale_of_all_points_change_no_score(offset, scale):
    embeddings, labels = points(100, 6, 5)
    grid = np.round(embeddings * 64) / 64
    got = evaluate(((grid + offset) * scale).astype(np.float64 if abs(offset) > 100 else np.float32), labels)
    expected = evaluate(grid, labels)
    assert [got[key] for key in KEYS] == pytest.approx([expected[key] for key in KEYS], abs=1e-3)


def test_a_collapsed_space_scores_nothing_rather_than_chance():
    got = evaluate(np.ones((40, 3)), np.arange(40) % 4)
    assert (got["precision_at_1"], got["recall_at_10"], got["map_at_r"], got["nmi"]) == (0, 0, 0, 0)


def test_scores_of_a_ranking_need_no_second_search():
    queries, _ = read_query_and_gallery(*points(60, 4, 3), None, None)
    got = scores(rank_gallery(queries, full=True), queries, None, (1, 5, 10))
    everything = evaluate(queries.points, queries.classes)
    assert got.items() <= everything.items()


def with_cameras(queries, labels, cameras, gallery=None, gallery_labels=None, gallery_cameras=None):
    """Rank each query by itself, after the images of its class and camera are taken out of the gallery by hand."""
    itself = gallery is None
    gallery, gallery_labels, gallery_cameras = (
        (queries, labels, cameras) if itself else (gallery, gallery_labels, gallery_cameras)
    )
    rows = []
    for query, label, camera in zip(queries, labels, cameras, strict=True):
        searched = [j for j in range(len(gallery)) if not (gallery_labels[j] == label and gallery_cameras[j] == camera)]
        if any(gallery_labels[j] == label for j in searched):
            rows.append(naive(query[None], [label], gallery[searched], np.asarray(gallery_labels)[searched]))
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}, len(rows)


def test_the_rule_of_market_1501_on_a_list_made_by_hand():
    """The gallery at distances 1, 2, 3 …; the query is identity 7 from camera 0."""
    labels = [7, 3, 7, 7, 3, 7]
    cameras = [0, 0, 1, 0, 2, 2]  # first and fourth: its own identity and camera
    gallery = np.arange(1.0, 7.0)[:, None]
    got = evaluate([[0.0]], [7], gallery, labels, cameras=[0], gallery_cameras=cameras)
    # What is left is 3, 7, 3, 7: precision 1/2 at the second and 2/4 at the fourth place.
    assert (got["cmc_at_1"], got["cmc_at_5"], got["mrr"]) == (0, 1, 0.5)
    assert got["map"] == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert got["r_precision"] == pytest.approx(1 / 2)
    assert got["map_at_r"] == pytest.approx(1 / 2 / 2)
    assert evaluate([[0.0]], [7], gallery, labels)["cmc_at_1"] == 1


def test_an_identity_seen_by_one_camera_only_is_left_out_and_counted():
    gallery, labels = [[1.0], [2.0]], [7, 8]
    got = evaluate([[0.0], [3.0]], [7, 8], gallery, labels, cameras=[0, 0], gallery_cameras=[0, 1])
    assert (got["queries"], got["queries_left_out"], got["cmc_at_1"]) == (1, 1, 1)


@pytest.mark.parametrize("searched", ["themselves", "a gallery"])
def test_same_camera_matches_left_out_equal_a_gallery_without_them(searched):
    embeddings, labels = points(120, 4, 6)
    cameras = np.random.default_rng(3).integers(3, size=120)
    data = (embeddings[:50], labels[:50], cameras[:50])
    others = (embeddings[50:], labels[50:], cameras[50:]) if searched == "a gallery" else (None, None, None)
    expected, queries = with_cameras(*data, *others)
    got = evaluate(*data[:2], *others[:2], cameras=data[2], gallery_cameras=others[2], clustering=False)
    assert got["queries"] == queries
    assert {key: got[key] for key in expected} == pytest.approx(expected, abs=1e-4)


def test_a_class_mean_leaves_out_the_same_camera_too():
    embeddings, labels = points(60, 4, 3, pull=0.5)
    cameras = np.arange(60) % 4
    right = []
    for i in range(60):
        left = (labels != labels[i]) | (cameras != cameras[i])
        means = {c: embeddings[left & (labels == c)].mean(axis=0) for c in range(3)}
        right.append(min(means, key=lambda c: np.linalg.norm(embeddings[i] - means[c])) == labels[i])
    assert evaluate(embeddings, labels, cameras=cameras)["nearest_mean_accuracy"] == pytest.approx(np.mean(right))


@pytest.mark.parametrize(("size", "k"), [(1, 1), (100, 1), (101, 2), (250, 3)])
def test_recall_at_1_percent_looks_at_a_hundredth_of_the_gallery(size, k):
    queries = np.array([[0.0], [0.0]])
    gallery = np.arange(1, size + 1, dtype=float)[:, None]
    last, first_missed = np.arange(size) == k - 1, np.arange(size) == k
    got = evaluate(queries, [1, 2], gallery, np.where(last, 1, np.where(first_missed, 2, 0)))
    assert got["recall_at_1_percent"] == (0.5 if size > k else 1)


def embedded(n, seed, spread=1.0, grid=None, classes=7, kind=np.float32):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    points = rng.normal(size=(classes, 6))[labels] + spread * rng.normal(size=(n, 6))
    return (np.round(points * grid) / grid if grid else points).astype(kind), labels


SPACES = {
    "spread": {},
    "nearly collapsed": {"spread": 1e-4},
    "with ties": {"grid": 2},
    "in double precision": {"kind": np.float64},
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("with_gallery", [False, True])
@pytest.mark.parametrize("with_cameras", [False, True])
def test_first_hits_are_those_of_the_whole_ranking(space, with_gallery, with_cameras):
    points, labels = embedded(400, 0, **space)
    labels[0] = 99  # alone: no query
    others = embedded(300, 1, **space) if with_gallery else (None, None)
    rng = np.random.default_rng(2)
    cameras = (rng.integers(3, size=400), rng.integers(3, size=300) if with_gallery else None)
    both = read_query_and_gallery(points, labels, *others, *(cameras if with_cameras else (None, None)))
    got, ranking = first_hits(*both), rank_gallery(*both)
    assert np.array_equal(got.queries, ranking.queries)
    assert np.array_equal(got.rank, ranking.first_hit)
    assert np.array_equal(got.nearest_class, (both[1] or both[0]).classes[ranking.nearest[:, 0]])


def test_single_precision_settles_nearly_all(monkeypatch):
    ranked = []

    class Counted(SquaredDistances):
        def of(self, rows):
            ranked.extend(rows)
            return super().of(rows)

    monkeypatch.setattr(module, "SquaredDistances", Counted)
    first_hits(read(*embedded(2000, 0)))
    assert len(ranked) < 20
    first_hits(read(*embedded(2000, 0, grid=1)))
    assert len(ranked) > 1000  # equally near ones need the rule for ties


@pytest.mark.parametrize("offset", [0, 1000])
def test_rough_distances_are_as_near_as_they_say(offset):
    points = rescale(*2 * [embedded(300, 3)[0] + np.float32(offset)])[0]
    distances = RoughDistances(points, points)
    exact = ((points[:, None] - points) ** 2).sum(axis=2)
    assert (np.abs(distances.of(slice(0, 300)) - exact) <= distances.error[:, None]).all()
    part = distances.of(slice(5, 9), slice(7, None))
    assert (np.abs(part - exact[5:9, 7:]) <= distances.error[5:9, None]).all()
    assert distances.error.max() < 1e-5


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda points: points, id="spread out"),
        pytest.param(np.round, id="tied"),
        pytest.param(lambda points: points * 0, id="collapsed"),
        pytest.param(lambda points: np.vstack([1e6 + points[:1], points[1:]]), id="outlier"),
        pytest.param(lambda points: np.where(np.arange(len(points))[:, None] % 2, 1e3, 0) + points, id="two heaps"),
    ],
)
@pytest.mark.parametrize("setting", ["itself", "gallery", "cameras"])
def test_compiled_ranks_are_those_of_a_sort(kind, change, setting, monkeypatch):
    embeddings, labels = points(500, 8, 7)
    embeddings, cameras = change(embeddings).astype(kind), np.arange(500) % 3
    data = (embeddings, labels) if setting == "itself" else (embeddings[:80], labels[:80], embeddings[80:], labels[80:])
    seen = (cameras[:80], cameras[80:]) if setting == "cameras" else ()
    data = read_query_and_gallery(*data, *(() if len(data) > 2 else (None, None)), *seen)
    expected = rank_gallery(*data, full=True)
    assert compiled(retrieval.load_kernels) is not None
    monkeypatch.setattr(retrieval, "_COMPILED_FROM", 0)
    with monkeypatch.context() as patch:
        patch.setattr(np, "sort", None)  # it is not used
        found = rank_gallery(*data, full=True)
    for name in ("first_hit", "hits_in_r", "nearest"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("average_precision_at_r", "average_precision"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)


def test_the_mean_of_classes_counts_a_rare_class_as_much_as_a_frequent_one():
    got = evaluate([[0.0], [0.1], [0.2], [0.3], [5.0], [0.16]], [3, 3, 3, 3, 7, 7])
    assert got["precision_at_1"] == pytest.approx(2 / 6)  # two of class 3 have another one nearest, none of class 7
    assert got["macro_precision_at_1"] == pytest.approx((2 / 4 + 0) / 2)
    assert got["macro_map_at_r"] == pytest.approx(got["map_at_r"] * 6 / 4 / 2)
