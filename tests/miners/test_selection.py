"""Each miner equals the sentence that describes it, written as loops over a small batch."""

from collections import Counter
from itertools import combinations, permutations, product

import pytest
import torch

from dmlviz import miners
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets, as_pairs, pair_masks
from dmlviz.ops.pairwise import cosine_matrix, distance_matrix

N = 23
KINDS = ["euclidean", "sqeuclidean", "cosine"]


@pytest.fixture(params=[0, 1, 2])
def batch(request):
    """Uneven classes, one of them with a single image."""
    generator = torch.Generator().manual_seed(request.param)
    labels = torch.tensor([7] + [0] * 9 + [1] * 5 + [2] * 6 + [3] * 2)
    order = torch.randperm(N, generator=generator)
    return torch.randn(N, 5, generator=generator, dtype=torch.float64), labels[order]


def ordered_positives(labels):
    return [(a, p) for a, p in permutations(range(N), 2) if labels[a] == labels[p]]


def negatives(labels, a):
    return [n for n in range(N) if labels[n] != labels[a]]


def as_set(triplets):
    found = list(zip(*(index.tolist() for index in triplets), strict=True))
    assert len(found) == len(set(found))
    return set(found)


def pairs_as_sets(pairs):
    positive = set(zip(pairs.a.tolist(), pairs.p.tolist(), strict=True))
    negative = set(zip(pairs.b.tolist(), pairs.n.tolist(), strict=True))
    assert (len(positive), len(negative)) == (len(pairs.a), len(pairs.b))
    return positive, negative


def unordered(labels):
    every = set(combinations(range(N), 2))
    positive = {(i, j) for i, j in every if labels[i] == labels[j]}
    return positive, every - positive


def test_all_pairs_is_every_pair_once(batch):
    embeddings, labels = batch
    assert pairs_as_sets(miners.build("all_pairs")(embeddings, labels)) == unordered(labels)


def test_ten_classes_of_sixteen_give_12720_pairs():
    pairs = miners.build("all_pairs")(torch.randn(160, 4), torch.arange(160) % 10)
    assert len(pairs.a) + len(pairs.b) == 12_720


def test_balanced_pairs_takes_all_positives_and_as_many_different_negatives(batch):
    embeddings, labels = batch
    positive, negative = pairs_as_sets(miners.build("balanced_pairs")(embeddings, labels))
    every_positive, every_negative = unordered(labels)
    assert positive == every_positive
    assert negative < every_negative
    assert len(negative) == len(positive)


def test_balanced_pairs_draws_every_negative_equally_often():
    labels, drawn = torch.tensor([0, 0, 1, 2]), Counter()
    mine = miners.build("balanced_pairs", seed=3)
    for _ in range(1000):
        pairs = mine(torch.zeros(4, 2), labels)
        drawn[pairs.b.item(), pairs.n.item()] += 1
    assert len(drawn) == 5
    assert all(150 < count < 250 for count in drawn.values())


@pytest.mark.parametrize("kind", KINDS)
def test_hard_negative_pairs_takes_the_closest_negatives(batch, kind):
    embeddings, labels = batch
    distance = distance_matrix(embeddings, kind)
    positive, negative = pairs_as_sets(miners.build("hard_negative_pairs", distance=kind)(embeddings, labels))
    every_positive, every_negative = unordered(labels)
    assert positive == every_positive
    assert negative == set(sorted(every_negative, key=lambda pair: distance[pair])[: len(positive)])


def test_multi_similarity_keeps_what_overlaps(batch):
    embeddings, labels = batch
    s, epsilon = cosine_matrix(embeddings), 0.3
    mined = miners.build("multi_similarity", epsilon=epsilon)(embeddings, labels)
    positive, negative = set(), set()
    for a in range(N):
        mine = [p for p in range(N) if labels[p] == labels[a] and p != a]
        others = negatives(labels, a)
        positive |= {(a, p) for p in mine if s[a, p] < max(s[a, n] for n in others) + epsilon}
        negative |= {(a, n) for n in others if mine and s[a, n] > min(s[a, p] for p in mine) - epsilon}
    assert isinstance(mined, AnchoredPairs)
    assert pairs_as_sets(mined) == (positive, negative)


@pytest.mark.parametrize("kind", KINDS)
def test_hardest_negative_is_the_closest(batch, kind):
    embeddings, labels = batch
    d = distance_matrix(embeddings, kind)
    expected = {(a, p, min(negatives(labels, a), key=lambda n: d[a, n])) for a, p in ordered_positives(labels)}
    assert as_set(miners.build("hardest_negative", distance=kind)(embeddings, labels)) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_semihard_nearest_is_the_next_beyond_the_positive_or_the_farthest(batch, kind):
    embeddings, labels = batch
    d = distance_matrix(embeddings, kind)
    expected, fallbacks = set(), 0
    for a, p in ordered_positives(labels):
        beyond = [n for n in negatives(labels, a) if d[a, n] > d[a, p]]
        fallbacks += not beyond
        pick = min(beyond, key=lambda n: d[a, n]) if beyond else max(negatives(labels, a), key=lambda n: d[a, n])
        expected.add((a, p, pick))
    assert fallbacks  # otherwise the second half of the rule is not tested
    assert as_set(miners.build("semihard_nearest", distance=kind)(embeddings, labels)) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_batch_hard_is_the_farthest_positive_with_the_closest_negative(batch, kind):
    embeddings, labels = batch
    assert as_set(miners.build("batch_hard", distance=kind)(embeddings, labels)) == per_anchor(batch, kind, max)


@pytest.mark.parametrize("kind", KINDS)
def test_easy_positive_is_the_closest_positive_with_the_closest_negative(batch, kind):
    embeddings, labels = batch
    assert as_set(miners.build("easy_positive", distance=kind)(embeddings, labels)) == per_anchor(batch, kind, min)


def per_anchor(batch, kind, choose):
    embeddings, labels = batch
    d = distance_matrix(embeddings, kind)
    expected = set()
    for a in range(N):
        mine = [p for p in range(N) if labels[p] == labels[a] and p != a]
        if mine:
            p, n = choose(mine, key=lambda i: d[a, i]), min(negatives(labels, a), key=lambda i: d[a, i])
            expected.add((a, p, n))
    return expected


def allowed(name, labels, d, margin):
    """All triplets that a random miner may give, by positive pair."""
    rules = {
        "random_negative": lambda a, p, n: True,
        "random_hard_negative": lambda a, p, n: margin + d[a, p] - d[a, n] > 0,
        "semihard_random": lambda a, p, n: 0 < d[a, n] - d[a, p] < margin,
    }
    choices = {(a, p): {n for n in negatives(labels, a) if rules[name](a, p, n)} for a, p in ordered_positives(labels)}
    return {pair: some for pair, some in choices.items() if some}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"), [("random_negative", None), *product(["random_hard_negative", "semihard_random"], KINDS)]
)
def test_a_random_miner_gives_each_pair_one_allowed_negative_and_reaches_all(batch, name, kind):
    embeddings, labels = batch
    margin = 0.3
    choices = allowed(name, labels, distance_matrix(embeddings, kind or "euclidean"), margin)
    mine = miners.build(name, seed=5, **({"margin": margin, "distance": kind} if kind else {}))
    reached = {pair: set() for pair in choices}
    for _ in range(100):
        triplets = mine(embeddings, labels)
        assert [(a, p) for a, p in zip(triplets.a.tolist(), triplets.p.tolist(), strict=True)] == list(choices)
        for a, p, n in as_set(triplets):
            reached[a, p].add(n)
    assert all(reached[pair] <= choices[pair] for pair in choices)
    missed = sum(len(choices[pair] - reached[pair]) for pair in choices)
    assert missed < 0.02 * sum(map(len, choices.values()))


@pytest.mark.parametrize("name", ["random_hard_negative", "semihard_random"])
def test_a_pair_without_an_allowed_negative_is_left_out(name):
    line = torch.tensor([[0.0], [0.1], [0.25], [5.0], [6.0]])
    triplets = miners.build(name, margin=0.2)(line, torch.tensor([0, 0, 1, 2, 2]))
    assert as_set(triplets) == {(0, 1, 2), (1, 0, 2)}


@pytest.mark.slow
def test_distance_weighted_draws_by_the_inverse_density_of_the_sphere():
    dimensions, cutoff, end = 6, 0.6, 1.3
    angles = torch.linspace(0.3, 2.0, 9)  # one anchor pair at angle 0, negatives along a great circle
    embeddings = torch.zeros(11, dimensions, dtype=torch.float64)
    embeddings[:2, 0] = 1
    embeddings[2:, 0], embeddings[2:, 1] = angles.cos(), angles.sin()
    labels = torch.tensor([0, 0, *range(1, 10)])
    d = 2 * (angles.double() / 2).sin()
    weight = 1 / (
        d.clamp(min=cutoff) ** (dimensions - 2) * (1 - d.clamp(min=cutoff) ** 2 / 4) ** ((dimensions - 3) / 2)
    )
    weight[d >= end] = 0
    expected = weight / weight.sum()

    drawn = torch.zeros(9, dtype=torch.float64)
    mine = miners.build("distance_weighted", seed=1, cutoff=cutoff, nonzero_cutoff=end)
    rounds = 800
    for _ in range(rounds):
        triplets = mine(embeddings * 3, labels)  # lengths do not matter
        assert triplets.a.tolist() == [0, 1]
        drawn += torch.bincount(triplets.n - 2, minlength=9)
    share = drawn / (2 * rounds)
    assert (expected > 0).sum() > 4
    assert ((expected == 0) == (share == 0)).all()
    torch.testing.assert_close(share, expected, atol=0.03, rtol=0)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 1024])
def test_distance_weighted_holds_in_any_dimension(dimensions):
    embeddings = torch.randn(40, dimensions, generator=torch.Generator().manual_seed(0))
    embeddings[:, 0] += 1.5 * dimensions**0.5  # a cone, so that there are candidates
    labels = torch.arange(40) % 4
    triplets = miners.build("distance_weighted")(embeddings, labels)
    assert len(triplets.a) > 100
    assert (labels[triplets.a] == labels[triplets.p]).all()
    assert (labels[triplets.a] != labels[triplets.n]).all()


def test_pair_masks_hold_both_directions_of_a_pair_and_one_of_an_anchored_pair():
    index = torch.tensor
    both, negative = pair_masks(Pairs(index([0]), index([2]), index([1]), index([2])), 3)
    assert both.nonzero().tolist() == [[0, 2], [2, 0]]
    assert negative.nonzero().tolist() == [[1, 2], [2, 1]]
    one, negative = pair_masks(as_pairs(Triplets(index([0]), index([2]), index([1]))), 3)
    assert one.nonzero().tolist() == [[0, 2]]
    assert negative.nonzero().tolist() == [[0, 1]]
