"""Oracles of the pair losses: loops over the pairs, from the papers; pytorch-metric-learning where it agrees."""

import torch
from pytorch_metric_learning import losses as pml
from pytorch_metric_learning.distances import SNRDistance
from pytorch_metric_learning.reducers import AvgNonZeroReducer

from dmlviz.miners.tuples import Triplets, as_pairs

DISTANCES = ("permutation", "rotation", "translation")
DIRECTIONS = ("permutation", "rotation", "scaling")


def mean(values):
    return sum(values) / max(len(values), 1)


def nonzero(values):
    return sum(values) / max(sum(bool(value > 0) for value in values), 1)


def pairs(positive, negative, how=mean):
    """One mean over all pairs of what `positive(case, i, j)` and `negative(case, i, j)` say."""

    def compute(case, _):
        return how([positive(case, *pair) for pair in case.P] + [negative(case, *pair) for pair in case.N])

    return compute


def contrastive(margin, pos_margin=0.0, how=mean):
    return pairs(
        lambda case, i, j: (case.d(i, j) - pos_margin).relu() ** 2,
        lambda case, i, j: (margin - case.d(i, j)).relu() ** 2,
        how,
    )


def double(m1, m2):
    return pairs(
        lambda case, i, j: (case.d(i, j) ** 2 - m1).relu() ** 2, lambda case, i, j: (m2 - case.d(i, j) ** 2).relu() ** 2
    )


def linear(margin, pos_margin=0.0, distance="euclidean", how=mean):
    def compute(case, _):
        d = case.measure(distance)
        return how([(d(i, j) - pos_margin).relu() for i, j in case.P]) + how(
            [(margin - d(i, j)).relu() for i, j in case.N]
        )

    return compute


def distance_logistic(margin):
    def likelihood(case, i, j):
        return (1 + torch.tensor(-margin).double().exp()) / (1 + (case.d(i, j) - margin).exp())

    return pairs(
        lambda case, i, j: -likelihood(case, i, j).log(), lambda case, i, j: -(1 - likelihood(case, i, j)).log()
    )


def both_ways(case, listed):
    """Pairs for a formula in which the first image is the anchor."""
    anchored = type(case.tuples).__name__ == "AnchoredPairs"
    return list(listed) if anchored else [*listed, *((j, i) for i, j in listed if j in case.anchors)]


def snr(regularizer, pos_margin=0.0, margin=1.0, how=mean):
    def compute(case, _):
        def v(a, b):
            return (case.x[a] - case.x[b]).var() / case.x[a].var()

        pull = how([(v(a, b) - pos_margin).relu() for a, b in both_ways(case, case.P)])
        push = how([(margin - v(a, b)).relu() for a, b in both_ways(case, case.N)])
        return pull + push + regularizer * mean([row.mean().abs() for row in case.x])

    return compute


def margin(alpha, per_class=False):
    def compute(case, loss):
        if isinstance(case.tuples, Triplets):  # a positive and a negative pair each
            case = type(case)(case.x, case.labels, as_pairs(case.tuples))

        def beta(a):
            return loss.beta[case.labels[a]] if per_class else loss.beta[0]

        listed = both_ways if per_class else (lambda _, pairs: pairs)
        pull = [(case.d(a, b) - beta(a) + alpha).relu() for a, b in listed(case, case.P)]
        push = [(beta(a) + alpha - case.d(a, b)).relu() for a, b in listed(case, case.N)]
        return nonzero(pull + push)

    return compute


def multi_similarity(alpha, beta, base):
    def compute(case, _):
        terms = []
        for a in case.anchors:
            pull = sum(torch.exp(-alpha * (case.s(a, p) - base)) for p in case.positives(a))
            push = sum(torch.exp(beta * (case.s(a, n) - base)) for n in case.negatives(a))
            terms.append(torch.log(1 + pull + 0 * case.x.sum()) / alpha + torch.log(1 + push + 0 * case.x.sum()) / beta)
        return mean(terms)

    return compute


def circle(margin, gamma):
    def compute(case, _):
        terms = []
        for a in case.anchors:
            s_n, s_p = ([case.s(a, i) for i in side] for side in (case.negatives(a), case.positives(a)))
            push = sum(torch.exp(gamma * (s.detach() + margin).relu() * (s - margin)) for s in s_n)
            pull = sum(torch.exp(-gamma * (1 + margin - s.detach()).relu() * (s - 1 + margin)) for s in s_p)
            if s_n and s_p:
                terms.append(torch.log(1 + push * pull))
        return mean(terms)

    return compute


def peer(loss):
    """The peer's loss over the same ordered pairs."""

    def compute(case, _):
        a, p = zip(*[(a, p) for a in case.anchors for p in case.positives(a)], strict=True)
        b, n = zip(*[(a, n) for a in case.anchors for n in case.negatives(a)], strict=True)
        return loss(case.x, case.labels, tuple(torch.tensor(index) for index in (a, p, b, n)))

    return compute


def logistic(case, loss):
    def odds(i, j):
        return loss.gain * (case.x[i] @ case.x[j]) + loss.bias

    return mean(
        [torch.log(1 + torch.exp(-odds(*pair))) for pair in case.P]
        + [torch.log(1 + torch.exp(odds(*pair))) for pair in case.N]
    )


def siglip(case, loss):
    def odds(i, j):
        return loss.log_scale.exp() * case.s(i, j) + loss.bias

    return mean(
        [torch.log(1 + torch.exp(-odds(*pair))) for pair in case.P]
        + [torch.log(1 + torch.exp(odds(*pair))) for pair in case.N]
    )


def decision_hinge(case, loss):
    def score(a, b):
        both = torch.cat([case.x[a], case.x[b]])
        hidden = both @ torch.cat([loss.first, loss.second]) + loss.hidden_bias
        return hidden.relu() @ loss.score + loss.bias

    return mean(
        [(1 - score(a, b)).relu() for a, b in both_ways(case, case.P)]
        + [(1 + score(a, b)).relu() for a, b in both_ways(case, case.N)]
    )


ORACLES = [
    ("contrastive", {}, contrastive(1.0)),
    ("contrastive", {"margin": 1.5, "pos_margin": 0.6}, contrastive(1.5, 0.6)),
    ("contrastive", {"margin": 1.2, "reduction": "nonzero"}, contrastive(1.2, how=nonzero)),
    ("contrastive", {"margin": 1.2, "reduction": "sum"}, contrastive(1.2, how=sum)),
    ("custom_pair", {}, contrastive(1.0)),
    (
        "custom_pair",
        {"formula": "y * max(d - 0.6, 0) ** 2 + (1 - y) * max(0, 1.5 - d) ** 2", "reduction": "sum"},
        contrastive(1.5, 0.6, how=sum),
    ),
    ("contrastive_linear", {}, linear(1.0)),
    ("contrastive_linear", {"margin": 1.5, "distance": "sqeuclidean"}, linear(1.5, distance="sqeuclidean")),
    (
        "contrastive_linear",
        {"margin": 0.7, "pos_margin": 0.2, "distance": "cosine"},
        linear(0.7, 0.2, "cosine"),
        DIRECTIONS,
    ),
    ("contrastive_linear", {"pos_margin": 0.5, "reduction": "nonzero"}, linear(1.0, 0.5, how=nonzero)),
    ("contrastive_double", {}, double(0.2, 1.0)),
    ("contrastive_double", {"pos_margin": 0.5, "margin": 2.0}, double(0.5, 2.0)),
    ("contrastive_no_margin", {}, pairs(lambda case, i, j: case.d(i, j) ** 2, lambda case, i, j: -(case.d(i, j) ** 2))),
    (
        "cosine_pair",
        {},
        pairs(lambda case, i, j: (1 - case.s(i, j)) ** 2, lambda case, i, j: case.s(i, j) ** 2),
        DIRECTIONS,
    ),
    ("distance_logistic", {}, distance_logistic(1.0)),
    ("distance_logistic", {"margin": 2.5}, distance_logistic(2.5)),
    ("snr_contrastive", {}, snr(0.1), ("permutation",)),
    ("snr_contrastive", {"regularizer": 0, "margin": 1.7, "pos_margin": 0.4}, snr(0, 0.4, 1.7), ("permutation",)),
    (
        "snr_contrastive",
        {"regularizer": 0, "reduction": "nonzero"},
        peer(pml.SignalToNoiseRatioContrastiveLoss(distance=SNRDistance(normalize_embeddings=False))),
        ("permutation",),
    ),
    ("margin", {}, margin(0.2)),
    ("margin", {"alpha": 0.4, "beta": 0.9}, margin(0.4)),
    ("margin", {"beta": 0.8, "per_class": True}, margin(0.2, per_class=True)),
    ("multi_similarity", {}, multi_similarity(2, 50, 0.5), DIRECTIONS),
    ("multi_similarity", {"alpha": 3, "beta": 20, "base": 0.3}, multi_similarity(3, 20, 0.3), DIRECTIONS),
    ("multi_similarity", {}, peer(pml.MultiSimilarityLoss(alpha=2, beta=50, base=0.5)), DIRECTIONS),
    ("circle", {}, circle(0.4, 80), DIRECTIONS),
    ("circle", {"margin": 0.25, "gamma": 16}, circle(0.25, 16), DIRECTIONS),
    ("circle", {}, peer(pml.CircleLoss(m=0.4, gamma=80, reducer=AvgNonZeroReducer())), DIRECTIONS),
    ("logistic_pair", {}, logistic, ("permutation", "rotation")),
    ("siglip", {}, siglip, DIRECTIONS),
    ("hinge_pair", {}, decision_hinge, ("permutation",)),
    ("hinge_pair", {"hidden": 5}, decision_hinge, ("permutation",)),
]
