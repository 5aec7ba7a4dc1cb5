"""What may be wrong with labeled images, against slow loops."""

import numpy as np
import pytest

from dmlviz.cleaning.measures import label_disagreement, leaks, near_duplicates, outlier_ratios, suspects


def points(seed, n=40, d=3):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def neighbors_of(x, i, k):
    distances = np.sqrt(((x - x[i]) ** 2).sum(axis=1))
    return [j for j in np.argsort(distances, kind="stable") if j != i][:k]


def test_disagreement_counts_as_many_neighbors_as_the_class_has_others():
    embeddings = [points(0), points(1), points(2)]
    labels = np.repeat([9, 7, 2, 5], [2, 4, 20, 14])
    found = label_disagreement(embeddings, labels, k=5)
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
    ranked = [(-found.support[i], -found.share[i], i) for i in listed]
    assert ranked == sorted(ranked)


def test_flipped_labels_come_first():
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    labels = truth.copy()
    flipped = rng.choice(300, 12, replace=False)
    labels[flipped] = (labels[flipped] + 1) % 3
    embeddings = [3 * np.eye(3)[truth] + rng.normal(size=(300, 3)) / 2 for _ in range(3)]
    found = label_disagreement(embeddings, labels, k=10)
    first = suspects(found)[:12]
    assert set(first.tolist()) == set(flipped.tolist())
    assert np.array_equal(found.suggestion[first], truth[first])


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 30])
def test_images_of_small_classes_are_suspect_only_where_the_label_is_wrong(size):
    rng = np.random.default_rng(size)
    truth = np.repeat(np.arange(60), size)
    embeddings = [(100 * rng.normal(size=(60, 8))[truth] + rng.normal(size=(60 * size, 8))) for _ in range(2)]
    right = label_disagreement(embeddings, truth, k=10)
    assert suspects(right).tolist() == []
    assert right.compared.all() == (size >= 3)
    labels, wrong = truth.copy(), np.arange(0, 60 * size, 10 * size)  # one image of every tenth class
    labels[wrong] = (truth[wrong] + 5) % 60
    found = label_disagreement(embeddings, labels, k=10)
    assert sorted(suspects(found)) == wrong.tolist()
    assert np.array_equal(found.suggestion[wrong], truth[wrong])


def test_outliers_are_far_from_their_neighbors():
    x = points(0)
    x[7] += 50
    mean = np.array([np.mean([np.linalg.norm(x[i] - x[j]) for j in neighbors_of(x, i, 3)]) for i in range(40)])
    np.testing.assert_allclose(outlier_ratios(x, 3), mean / np.median(mean), rtol=1e-4)
    assert outlier_ratios(x, 3).argmax() == 7
    assert (outlier_ratios(np.ones((6, 2), np.float32), 3) == 1).all()


def test_the_same_pictures_are_found_in_both_splits():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (30, 4, 4)).astype(np.uint8)
    images[20], images[11] = images[3], images[4]
    images[11, 0, 0] ^= 8  # nearly the same
    embeddings = images.reshape(30, -1).astype(np.float32)
    pairs, differences = near_duplicates(images, embeddings, 0.05)
    assert pairs.tolist() == [[3, 20], [4, 11]]
    assert differences[0] == 0
    assert np.isclose(differences[1], np.sqrt((8 / 255) ** 2 / 16))
    test = np.concatenate([rng.integers(0, 256, (5, 4, 4)).astype(np.uint8), images[9:10]])
    pairs, differences = leaks((images, embeddings), (test, test.reshape(6, -1).astype(np.float32)), 0.05)
    assert (pairs.tolist(), differences.tolist()) == ([[9, 5]], [0])


def test_a_run_without_checkpoints_is_looked_through_by_its_final_net(tmp_path):
    from dmlviz.cleaning.search import find, spread
    from dmlviz.config import TrainConfig
    from dmlviz.runs.store import Runs
    from dmlviz.runs.training_run import train_and_record

    assert spread([0, 5, 9, 14, 20], 3) == [0, 9, 20]
    run = Runs(tmp_path).create(TrainConfig(dataset="digits", net="mlp", steps=3, num_snapshots=1))
    for _ in train_and_record(run):
        pass
    found = find(run, tmp_path)
    assert found.steps == (3,)
    assert (found.images, found.uncompared) == (1201, 0)
    assert {row.kind for row in found.rows} >= {"suspect"}
    assert all(row.suggestion != row.label for row in found.rows if row.kind == "suspect")
