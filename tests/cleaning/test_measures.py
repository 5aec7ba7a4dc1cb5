"""What may be wrong with labeled images, against slow loops."""

import numpy as np

from dmlviz.cleaning.measures import label_disagreement, leaks, near_duplicates, outlier_ratios, suspects


def points(seed, n=40, d=3):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def neighbors_of(x, i, k):
    distances = np.sqrt(((x - x[i]) ** 2).sum(axis=1))
    return [j for j in np.argsort(distances, kind="stable") if j != i][:k]


def test_disagreement_counts_the_labels_of_all_neighbors():
    embeddings = [points(0), points(1), points(2)]
    labels = np.random.default_rng(3).choice([2, 5, 7], 40)
    found = label_disagreement(embeddings, labels, k=4)
    for i in range(40):
        votes = [labels[j] for x in embeddings for j in neighbors_of(x, i, 4)]
        assert np.isclose(found.share[i], np.mean([vote != labels[i] for vote in votes]))
        most = max((votes.count(label), -label) for label in (2, 5, 7))
        assert found.suggestion[i] == -most[1]
        assert np.isclose(found.support[i], most[0] / 12)
    listed = suspects(found, labels).tolist()
    assert set(listed) == {i for i in range(40) if found.share[i] >= 0.5 and found.suggestion[i] != labels[i]}
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
    first = suspects(found, labels)[:12]
    assert set(first.tolist()) == set(flipped.tolist())
    assert np.array_equal(found.suggestion[first], truth[first])


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
