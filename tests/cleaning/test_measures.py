"""What may be wrong with labeled images, against slow loops."""

import numpy as np
import pytest

from dmlviz.cleaning.measures import label_disagreement, leaks, near_duplicates, outlier_ratios, outliers, suspects
from dmlviz.ops.nearest_neighbors import NearestNeighbors


def points(seed, n=40, d=3):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def near(embeddings, k):
    """Neighbors of all, by each of several embeddings."""
    return [NearestNeighbors(x).others(k)[1] for x in embeddings]


def neighbors_of(x, i, k):
    distances = np.sqrt(((x - x[i]) ** 2).sum(axis=1))
    return [j for j in np.argsort(distances, kind="stable") if j != i][:k]


def test_disagreement_counts_as_many_neighbors_as_the_class_has_others():
    embeddings = [points(0), points(1), points(2)]
    labels = np.repeat([9, 7, 2, 5], [2, 4, 20, 14])
    found = label_disagreement(near(embeddings, 5), labels)
    assert found.compared.tolist() == [False] * 2 + [True] * 38
    for i in range(2, 40):
        k = min(5, (labels == labels[i]).sum() - 1)
        votes = [labels[j] for x in embeddings for j in neighbors_of(x, i, k)]
        others = [vote for vote in votes if vote != labels[i]]
        assert np.isclose(found.share[i], len(others) / len(votes))
        most = max((others.count(label), -label) for label in (2, 5, 7, 9))
        assert found.suggestion[i] == (-most[1] if others else labels[i])
        assert np.isclose(found.support[i], most[0] / len(votes))
    listed = suspects(found).tolist()
    expected = {i for i in range(2, 40) if found.share[i] >= 0.5 and found.support[i] > 1 - found.share[i]}
    assert set(listed) == expected
    ranked = [(-found.share[i], -found.support[i], i) for i in listed]
    assert ranked == sorted(ranked)


def test_flipped_labels_come_first():
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    labels = truth.copy()
    flipped = rng.choice(300, 12, replace=False)
    labels[flipped] = (labels[flipped] + 1) % 3
    embeddings = [3 * np.eye(3)[truth] + rng.normal(size=(300, 3)) / 2 for _ in range(3)]
    found = label_disagreement(near(embeddings, 10), labels)
    first = suspects(found)[:12]
    assert set(first.tolist()) == set(flipped.tolist())
    assert np.array_equal(found.suggestion[first], truth[first])


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 30])
def test_images_of_small_classes_are_suspect_only_where_the_label_is_wrong(size):
    rng = np.random.default_rng(size)
    truth = np.repeat(np.arange(60), size)
    embeddings = [(100 * rng.normal(size=(60, 8))[truth] + rng.normal(size=(60 * size, 8))) for _ in range(2)]
    right = label_disagreement(near(embeddings, 10), truth)
    assert suspects(right).tolist() == []
    assert right.compared.all() == (size >= 3)
    labels, wrong = truth.copy(), np.arange(0, 60 * size, 10 * size)  # one image of every tenth class
    labels[wrong] = (truth[wrong] + 5) % 60
    found = label_disagreement(near(embeddings, 10), labels)
    assert sorted(suspects(found)) == wrong.tolist()
    assert np.array_equal(found.suggestion[wrong], truth[wrong])


def test_outliers_are_far_from_their_neighbors():
    x = points(0)
    x[7] += 50
    mean = np.array([np.mean([np.linalg.norm(x[i] - x[j]) for j in neighbors_of(x, i, 3)]) for i in range(40)])
    ratios = outlier_ratios(NearestNeighbors(x).others(3)[0])
    np.testing.assert_allclose(ratios, mean / np.median(mean), rtol=1e-4)
    assert outliers(ratios, 2, 0.01).tolist() == [7]
    assert (outlier_ratios(np.zeros((6, 2))) == 1).all()


def test_at_most_the_strongest_percent_are_outliers():
    ratios = np.linspace(3, 5, 1201)  # all are far
    assert outliers(ratios, 2, 0.01).tolist() == list(range(1200, 1188, -1))
    assert outliers(ratios / 2, 2, 0.01).tolist() == list(range(1200, 1188, -1))
    assert outliers(ratios[:20], 2, 0.01).tolist() == [19]
    assert outliers(ratios[:20] / 2, 2, 0.01).tolist() == []


def test_the_same_pictures_are_found_in_both_splits():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (30, 4, 4)).astype(np.uint8)
    images[20], images[11] = images[3], images[4]
    images[11, 0, 0] ^= 8  # nearly the same
    embeddings = images.reshape(30, -1).astype(np.float32)
    pairs, differences = near_duplicates(images, NearestNeighbors(embeddings).others(20)[1], 0.05)
    assert pairs.tolist() == [[3, 20], [4, 11]]
    assert differences[0] == 0
    assert np.isclose(differences[1], np.sqrt((8 / 255) ** 2 / 16))
    test = np.concatenate([rng.integers(0, 256, (5, 4, 4)).astype(np.uint8), images[9:10]])
    neighbors = NearestNeighbors(embeddings).search(test.reshape(6, -1).astype(np.float32), 20)[1]
    neighbors[0] = -1
    pairs, differences = leaks(images, test, neighbors, 0.05)
    assert (pairs.tolist(), differences.tolist()) == ([[9, 5]], [0])


@pytest.mark.parametrize("shape", [(40, 8, 8), (40, 5, 7), (40, 9, 9, 3)])
def test_no_pair_is_lost_by_comparing_parts_of_pictures_first(shape):
    rng = np.random.default_rng(0)
    images = np.clip(
        128 + rng.normal(scale=10, size=shape) + rng.normal(scale=20, size=(40, *[1] * (len(shape) - 1))), 0, 255
    )
    images = images.astype(np.uint8)
    everyone = np.array([[j for j in range(40) if j != i] for i in range(40)])
    threshold = 0.08
    flat = images.reshape(40, -1).astype(float) / 255
    alike = {
        (i, j) for i in range(40) for j in range(i + 1, 40) if np.sqrt(((flat[i] - flat[j]) ** 2).mean()) <= threshold
    }
    pairs, differences = near_duplicates(images, everyone, threshold)
    assert {tuple(pair) for pair in pairs.tolist()} == alike
    assert 10 < len(alike) < 700
    assert (np.diff(differences) >= 0).all()


@pytest.mark.slow
def test_a_run_without_checkpoints_is_looked_through_by_its_final_net(tmp_path):
    from dmlviz.cleaning.search import find, spread
    from dmlviz.config import TrainConfig
    from dmlviz.runs.store import Runs
    from dmlviz.runs.training_run import train_and_record

    assert spread([0, 5, 9, 14, 20], 3) == [0, 9, 20]
    run = Runs(tmp_path).create(TrainConfig(dataset="digits", net="mlp", steps=3, num_snapshots=1))
    list(train_and_record(run))
    told = []
    found = find(run, tmp_path, lambda words, share: told.append(share))
    assert found.steps == (3,)
    assert (found.images, found.uncompared) == (1201, 0)
    assert found.recall > 0.9
    assert told == sorted(told)
    assert 0 < told[-1] <= 1
    assert {row.kind for row in found.rows} >= {"suspect"}
    assert sum(row.kind == "outlier" for row in found.rows) <= 12
    assert all(row.suggestion != row.label for row in found.rows if row.kind == "suspect")
