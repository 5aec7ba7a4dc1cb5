"""One call for everything: degenerate sets, wrong input, NaN."""

import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

from dmlviz import UserError
from dmlviz.metrics import confusion, evaluate, evaluate_per_query, nearest_mean_accuracy
from dmlviz.metrics.probes import knn_probe_accuracy, linear_probe_accuracy
from dmlviz.ops import all_neighbors

COUNTS = {"queries", "queries_left_out"}


def points(n=60, d=5, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    return rng.normal(size=(classes, d))[labels] + rng.normal(size=(n, d)), labels


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_embedding_that_is_not_finite_scores_nan_everywhere(bad):
    embeddings, labels = points()
    healthy = evaluate(embeddings, labels)
    embeddings[7, 2] = bad
    got = evaluate(embeddings, labels)
    assert got.keys() == healthy.keys()
    assert all(np.isnan(value) for key, value in got.items() if key not in COUNTS)
    assert got["queries"] == healthy["queries"]
    assert confusion(embeddings, labels)[1].sum() == 0
    assert np.isnan(nearest_mean_accuracy(embeddings, labels))


def test_a_gallery_that_is_not_finite_scores_nan_everywhere():
    embeddings, labels = points()
    gallery = np.where(np.arange(5) == 1, np.nan, embeddings)
    got = evaluate(embeddings, labels, gallery, labels)
    assert all(np.isnan(value) for key, value in got.items() if key not in COUNTS)


@pytest.mark.parametrize(
    ("n", "labels", "queries"), [(1, [3], 0), (2, [0, 1], 0), (5, range(5), 0), (2, [1, 1], 2), (5, [2] * 5, 5)]
)
def test_degenerate_sets_are_defined(n, labels, queries):
    got = evaluate(np.random.default_rng(0).normal(size=(n, 3)), list(labels), ks=(1, 100))
    assert (got["queries"], got["queries_left_out"]) == (queries, n - queries)
    for key in ("precision_at_1", "recall_at_100", "r_precision", "map_at_r", "map", "mrr", "knn_accuracy"):
        assert got[key] == 1 if queries else np.isnan(got[key]), key
    for key in ("nmi", "ami", "pairwise_f1", "roc_auc", "eer"):
        assert np.isnan(got[key]), key


def test_scores_of_some_rows_are_the_means_over_these_queries():
    embeddings, labels = points(400)
    labels[3] = 99  # without another image of its class
    rows = np.array([3, 7, 20, 21, 150, 399])
    single, got = evaluate_per_query(embeddings, labels), evaluate(embeddings, labels, rows=rows)
    asked = np.isin(single.queries, rows)
    assert (got["queries"], got["queries_left_out"]) == (5, 1)
    assert got["precision_at_1"] == pytest.approx(np.mean(single.first_hit[asked] == 1))
    assert got["map_at_r"] == pytest.approx(np.mean(single.average_precision_at_r[asked]))
    assert got["r_precision"] == pytest.approx(np.mean(single.r_precision[asked]))
    far = np.sqrt(((embeddings[rows, None] - embeddings) ** 2).sum(axis=2))
    assert got["mean_negative_distance"] == pytest.approx(far[labels[rows, None] != labels].mean())


@pytest.mark.parametrize("decimals", [9, 1, 0, -2], ids=["apart", "some equal", "most equal", "one place"])
def test_the_five_nearest_alone_tell_what_the_whole_ranking_tells_of_them(monkeypatch, decimals):
    monkeypatch.setattr(all_neighbors, "FROM", 100)
    embeddings, labels = points(500, classes=30)
    embeddings, labels = embeddings.round(decimals), np.where(np.arange(500) % 9, labels, -1)
    whole, near = evaluate_per_query(embeddings, labels), evaluate_per_query(embeddings, labels, near=True)
    for name in ("queries", "nearest", "vote"):
        assert np.array_equal(getattr(near, name), getattr(whole, name)), name
    assert np.array_equal(near.first_hit, np.minimum(whole.first_hit, 6))
    assert np.isnan([near.r_precision, near.average_precision_at_r]).all()


@pytest.mark.parametrize("unseen", [(), (1, 2)])
@pytest.mark.parametrize("with_gallery", [False, True])
def test_all_rows_score_as_none(unseen, with_gallery):
    embeddings, labels = points(300)
    gallery = [points(200, seed=1)[0], points(200, seed=1)[1]] if with_gallery else []
    rows = np.arange(300)[::-1]
    assert evaluate(embeddings, labels, *gallery, unseen=unseen, rows=rows) == evaluate(
        embeddings, labels, *gallery, unseen=unseen
    )


def test_some_rows_score_seen_and_unseen_classes_among_themselves():
    embeddings, labels = points(300)
    rows = np.flatnonzero(labels < 2)[:40]
    got = evaluate(embeddings, labels, unseen=(1, 2), rows=rows)
    unseen = np.isin(labels, (1, 2))
    alone = evaluate(embeddings[unseen], labels[unseen], rows=np.flatnonzero(np.isin(np.flatnonzero(unseen), rows)))
    assert {key: got[f"unseen/{key}"] for key in alone} == pytest.approx(alone, nan_ok=True)


@pytest.mark.parametrize("rows", [[], [60], [-1], [0.5], [[1]]])
def test_wrong_rows_are_refused(rows):
    with pytest.raises(UserError, match="rows are indices of the 60 embeddings"):
        evaluate(*points(), rows=rows)


def test_k_beyond_the_gallery_looks_at_all_of_it():
    got = evaluate([[0.0], [1.0], [2.0]], [0, 1, 0], ks=(1, 2, 50))
    assert (got["recall_at_1"], got["recall_at_2"], got["recall_at_50"]) == (0, 1, 1)


def test_a_gallery_without_any_class_of_the_queries_leaves_all_out():
    got = evaluate([[0.0], [1.0]], [0, 1], [[0.0]], [7])
    assert (got["queries"], got["queries_left_out"]) == (0, 2)
    assert np.isnan(got["precision_at_1"])


def test_nearest_mean_equals_scikit_learn_in_a_gallery():
    embeddings, labels = points(200)
    expected = NearestCentroid().fit(embeddings[80:], labels[80:]).score(embeddings[:80], labels[:80])
    assert nearest_mean_accuracy(embeddings[:80], labels[:80], embeddings[80:], labels[80:]) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, bool, np.float64])
def test_labels_of_any_width_and_any_values_are_accepted(kind):
    embeddings, labels = points(classes=2)
    assert evaluate(embeddings, labels.astype(kind)) == evaluate(embeddings, labels)
    assert evaluate(embeddings, labels * 10**12 - 5) == evaluate(embeddings, labels)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1.0, 2.0], [0, 1]), "n × d"),
        ((np.zeros((0, 3)), []), "at least one row"),
        ((np.zeros((2, 0)), [0, 1]), "n × d"),
        (([["a", "b"]], [0]), "array of numbers"),
        (([[1.0], [1.0, 2.0]], [0, 1]), "unequal length"),
        (([[1.0], [2.0]], [0]), "one label for each embedding; got labels of shape (1,) for 2"),
        (([[1.0], [2.0]], [0.5, 1]), "whole numbers"),
        (([[1.0], [2.0]], ["a", "b"], [[1.0]], [0]), "labels of one kind; got 'a' and 0"),
        (([[1.0], [2.0]], [0, 1], [[1.0]], None), "gallery_labels is missing"),
        (([[1.0], [2.0]], [0, 1], None, [0]), "gallery is missing"),
        (([[1.0], [2.0]], [0, 1], [[1.0, 2.0]], [0]), "got 1 and 2 dimensions"),
        (([[1.0], [2.0]], [0, 1], None, None, (0,)), "from 1"),
        (([[1.0], [2.0]], [0, 1], None, None, (1.5,)), "from 1"),
    ],
)
def test_wrong_input_is_a_sentence(arguments, said):
    with pytest.raises(UserError, match=said.replace("(", r"\(").replace(")", r"\)")):
        evaluate(*arguments)


@pytest.mark.parametrize(
    ("cameras", "said"),
    [
        ({"cameras": [0, 1]}, "gallery_cameras is missing"),
        ({"gallery_cameras": [0, 1]}, "cameras is missing"),
        ({"cameras": [0], "gallery_cameras": [0, 1]}, "got cameras of shape"),
        ({"cameras": [0, 1], "gallery_cameras": [0.5, 1]}, "whole numbers or texts; got 0.5"),
    ],
)
def test_wrong_cameras_are_a_sentence(cameras, said):
    with pytest.raises(UserError, match=said):
        evaluate([[1.0], [2.0]], [0, 1], [[1.0], [2.0]], [0, 1], **cameras)
    with pytest.raises(UserError, match="belong to a gallery"):
        evaluate([[1.0], [2.0]], [0, 1], cameras=[0, 1], gallery_cameras=[0, 1])


def test_what_a_live_view_skips_is_missing_and_the_rest_is_the_same():
    embeddings, labels = points()
    live = evaluate(embeddings, labels, clustering=False, full_ranking=False, verification=False)
    everything = evaluate(embeddings, labels)
    assert live.items() <= everything.items()
    assert everything.keys() - live.keys() == {
        *("map", "nmi", "ami", "pairwise_f1"),
        *("roc_auc", "eer", "fpr_at_95_recall", "accuracy_10_fold"),
    }


def test_the_embeddings_given_are_left_as_they_are():
    embeddings, labels = points()
    before = embeddings.copy()
    evaluate(embeddings, labels)
    assert (embeddings == before).all()


@pytest.mark.parametrize("searched", ["themselves", "a gallery"])
def test_seen_and_unseen_classes_are_scored_each_among_themselves(searched):
    embeddings, labels = points(classes=6)
    gallery = points(n=50, classes=6, seed=1) if searched == "a gallery" else (None, None)
    got = evaluate(embeddings, labels, *gallery, unseen=[1, 4, 99])
    whole = evaluate(embeddings, labels, *gallery)
    assert {key: value for key, value in got.items() if "/" not in key} == whole
    for name, chosen in (("seen", [0, 2, 3, 5]), ("unseen", [1, 4])):
        rows = np.isin(labels, chosen)
        others = [None if part is None else part[np.isin(gallery[1], chosen)] for part in gallery]
        alone = evaluate(embeddings[rows], labels[rows], *others)
        assert {
            key.removeprefix(f"{name}/"): value for key, value in got.items() if key.startswith(f"{name}/")
        } == alone


def test_a_single_unseen_class_has_no_scores_of_its_own():
    got = evaluate(*points(classes=6), unseen=[2])
    assert "seen/precision_at_1" in got
    assert not any(key.startswith("unseen/") for key in got)


def clouds(seed, n=60, noise=0.8):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) * noise + 2 * np.eye(4)[labels], labels


def test_the_linear_probe_is_a_regression_chosen_on_validation_images():
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    train, validation, (points, labels) = clouds(0, 30), clouds(1), clouds(2, 300)
    scaler = StandardScaler().fit(train[0])
    accuracies = {}
    for strength in (1e-3, 1.0, 100.0):
        probe = LogisticRegression(C=strength, max_iter=200).fit(scaler.transform(train[0]), train[1])
        accuracies[strength] = [
            probe.score(scaler.transform(part[0]), part[1]) for part in (validation, (points, labels))
        ]
    expected = max(accuracies.values(), key=lambda pair: pair[0])[1]
    found = linear_probe_accuracy(points, labels, train, validation, strengths=(1e-3, 1.0, 100.0))
    assert found == pytest.approx(expected)
    assert linear_probe_accuracy(points, labels, train) == pytest.approx(accuracies[1.0][1])


def test_what_cannot_be_probed():
    points, labels = clouds(0)
    with pytest.raises(UserError, match="one class"):
        linear_probe_accuracy(points, labels, (points, 0 * labels))
    with pytest.raises(UserError, match="k lies between 1 and the 3"):
        knn_probe_accuracy(points, labels, points[:3], labels[:3])
    broken = np.full_like(points, np.nan)
    assert np.isnan(knn_probe_accuracy(points, labels, broken, labels))
    assert np.isnan(linear_probe_accuracy(points, labels, (broken, labels)))
