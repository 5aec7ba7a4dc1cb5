"""k-reciprocal re-ranking: against the paper's loops, and what it is for."""

import numpy as np
import pytest

from dmlviz import metrics
from dmlviz.errors import UserError
from dmlviz.metrics.reranking import reranked


def by_loops(x, k1, k2, balance):
    """The new distances of Zhong et al. 2017, their equations 3 to 12, one set at a time."""
    n = len(x)
    d = np.array([[((a - b) ** 2).sum() for b in x] for a in x])
    d /= d.max(axis=1, keepdims=True)
    order = np.argsort(d - np.eye(n), axis=1, kind="stable")

    def mutual(i, k):
        return {j for j in order[i, : k + 1] if i in order[j, : k + 1]}

    weights = np.zeros((n, n))
    for i in range(n):
        grown = own = mutual(i, k1)
        for j in own:
            other = mutual(j, round(k1 / 2))
            grown = grown | other if len(own & other) > 2 / 3 * len(other) else grown
        for j in grown:
            weights[i, j] = np.exp(-d[i, j])
    weights /= weights.sum(axis=1, keepdims=True)
    weights = np.array([weights[order[i, :k2]].mean(axis=0) for i in range(n)])
    jaccard = [[1 - np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in weights] for a in weights]
    return balance * d + (1 - balance) * np.array(jaccard)


@pytest.mark.parametrize(("k1", "k2", "balance"), [(4, 2, 0.3), (7, 3, 0.05), (5, 1, 0.6), (60, 6, 0.3)])
def test_scores_are_those_of_the_papers_loops(k1, k2, balance):
    rng = np.random.default_rng(k1)
    labels = rng.integers(0, 4, 40)
    x = rng.normal(size=(40, 3)) + 0.8 * np.eye(4, 3)[labels]
    for count in (0, 15):  # among themselves; so many queries, and the others as a gallery
        rows, columns = (slice(count), slice(count, None)) if count else (slice(None), slice(None))
        d = by_loops(x, min(k1, 39), k2, balance)[rows, columns]
        relevant = labels[rows, None] == labels[columns]
        if not count:
            np.fill_diagonal(d, np.inf)
            relevant &= ~np.eye(40, dtype=bool)
        ranked = np.take_along_axis(relevant, np.argsort(d, axis=1), axis=1)
        precision, of_r = [], []
        for hits in ranked[ranked.any(axis=1)]:
            r = int(hits.sum())
            precision.append(float(hits[0]))
            of_r.append(sum(hits[: i + 1].mean() for i in range(r) if hits[i]) / r)
        gallery = {"gallery": x[columns], "gallery_labels": labels[columns]} if count else {}
        found = reranked(x[rows], labels[rows], **gallery, k1=k1, k2=k2, balance=balance)
        assert found["precision_at_1"] == pytest.approx(np.mean(precision))
        assert found["map_at_r"] == pytest.approx(np.mean(of_r))


def test_neighbors_of_neighbors_find_what_a_distance_misses():
    rng, labels = np.random.default_rng(0), np.arange(400) % 20
    x = 0.9 * rng.normal(size=(20, 8))[labels] + 0.6 * rng.normal(size=(400, 8))
    assert reranked(x, labels)["map_at_r"] > metrics.evaluate(x, labels)["map_at_r"] + 0.1  # 0.42 before


def test_equal_points_nan_and_wrong_numbers():
    labels = [0, 0, 1, 1]
    assert reranked(np.zeros((4, 2)), labels)["precision_at_1"] == 0  # a collapsed space has no right answer
    assert np.isnan(reranked([[0.0], [np.nan], [1.0], [2.0]], labels)["map_at_r"])
    with pytest.raises(UserError, match="k1 and k2 from 1"):
        reranked(np.eye(4), labels, k1=0)
