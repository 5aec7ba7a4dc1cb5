"""Oracles of the structured losses: pytorch-metric-learning where it has the formula, else loops from the papers."""

import math

import torch
from pytorch_metric_learning import losses as pml

from tests.losses.oracles_pairs import mean, peer

DIRECTIONS = ("permutation", "rotation", "scaling")


def lifted(margin, squared=True):
    def compute(case, _):
        terms = []
        for i, j in case.P:
            others = [(i, k) for k in case.negatives(i)] + [(j, k) for k in case.negatives(j)]
            if not others:
                terms.append(0 * case.d(i, j))
                continue
            hinge = (torch.log(sum((margin - case.d(*pair)).exp() for pair in others)) + case.d(i, j)).relu()
            terms.append(hinge**2 / 2 if squared else hinge)
        return mean(terms)

    return compute


def lifted_hard(margin):
    def compute(case, _):
        terms = []
        for i, j in case.P:
            others = [(i, k) for k in case.negatives(i)] + [(j, k) for k in case.negatives(j)]
            nearest = max((margin - case.d(*pair) for pair in others), default=torch.tensor(-torch.inf))
            terms.append((nearest + case.d(i, j)).relu())
        return mean(terms)

    return compute


def generalized_lifted(margin):
    def compute(case, _):
        terms = []
        for a in case.anchors:
            if case.positives(a) and case.negatives(a):
                pull = torch.log(sum(case.d(a, p).exp() for p in case.positives(a)))
                push = torch.log(sum((margin - case.d(a, n)).exp() for n in case.negatives(a)))
                terms.append((pull + push).relu())
        return mean(terms)

    return compute


def tuple_hinge(margin):
    def compute(case, _):
        terms = []
        for a in case.anchors:
            nearest = max((case.s(a, n) for n in case.negatives(a)), default=torch.tensor(-torch.inf))
            terms += [(nearest - case.s(a, p) + margin).relu() for p in case.positives(a)]
        return mean(terms)

    return compute


def nca(log, scale):
    def compute(case, _):
        terms = []
        for a in case.anchors:
            near = [torch.exp(-scale * case.d(a, p) ** 2) for p in case.positives(a)]
            rest = [torch.exp(-scale * case.d(a, n) ** 2) for n in case.negatives(a)]
            if near:
                chance = sum(near) / sum(near + rest)
                terms.append(-chance.log() if log else -chance)
        return mean(terms)

    return compute


def n_pairs(l2):
    def compute(case, _):
        if case.tuples is None:
            by_class = [[i for i in case.anchors if case.labels[i] == c] for c in case.labels.unique()]
            rounds = [
                [(members[2 * r], members[2 * r + 1]) for members in by_class if len(members) > 2 * r + 1]
                for r in range(2)
            ]
        else:
            first = {}
            for a, p in case.P:
                first.setdefault(int(case.labels[a]), (a, p))
            rounds = [list(first.values())]
        terms, lengths = [], []
        for pairs in rounds:
            for a, p in pairs:
                scores = torch.stack([case.x[a] @ case.x[other] for _, other in pairs])
                terms.append(scores.logsumexp(0) - case.x[a] @ case.x[p])
                lengths += [case.x[a].square().sum(), case.x[p].square().sum()]
        return mean(terms) + l2 * mean(lengths)

    return compute


def tuplet_margin(degrees, scale):
    def compute(case, _):
        terms = []
        for a in case.anchors:
            for p in case.positives(a):
                relaxed = torch.cos(torch.acos(case.s(a, p)) - math.radians(degrees))
                terms.append(
                    torch.log(1 + sum(torch.exp(scale * (case.s(a, n) - relaxed)) for n in case.negatives(a)))
                    if case.negatives(a)
                    else 0 * relaxed
                )
        return mean(terms)

    return compute


def decoupled(temperature, sigma=None):
    def compute(case, _):
        pairs = [(a, p) for a in case.anchors if case.negatives(a) for p in case.positives(a)]
        near = [1.0 if sigma is None else torch.exp(case.s(a, p) / sigma) for a, p in pairs]
        terms = []
        for (a, p), one in zip(pairs, near, strict=True):
            weight = 2 - one / mean(near)
            push = torch.log(sum(torch.exp(case.s(a, n) / temperature) for n in case.negatives(a)))
            terms.append(push - weight * case.s(a, p) / temperature)
        return mean(terms)

    return compute


def hyperbolic(curvature, radius, temperature):
    root = curvature**0.5

    def place(v):
        v = v * (radius / v.norm()).clamp(max=1)
        return torch.tanh(root * v.norm()) * v / (root * v.norm())

    def apart(x, y):  # 2/√c artanh(√c ‖−x ⊕ y‖), by the Möbius sum
        xy, xx, yy = -(x @ y), x @ x, y @ y
        total = (1 + 2 * curvature * xy + curvature * yy) * -x + (1 - curvature * xx) * y
        return 2 / root * torch.atanh(root * (total / (1 + 2 * curvature * xy + curvature**2 * xx * yy)).norm())

    def compute(case, _):
        z = [place(v) for v in case.x]
        terms = []
        for a in case.anchors:
            for p in case.positives(a):
                d = apart(z[a], z[p])
                push = sum(torch.exp((d - apart(z[a], z[n])) / temperature) for n in case.negatives(a))
                terms.append(torch.log(1 + push) if case.negatives(a) else 0 * d)
        return mean(terms)

    return compute


def fastap(bins):
    def compute(case, _):
        width = 4 / bins

        def histogram(a, partners):
            pulses = [
                [(1 - (d2 - k * width).abs() / width).relu() for k in range(bins + 1)]
                for d2 in (2 - 2 * case.s(a, j) for j in partners)
            ]
            return torch.stack([sum(column) + 0 * case.x.sum() for column in zip(*pulses, strict=True)])

        terms = []
        for a in case.anchors:
            if not case.positives(a):
                continue
            found = histogram(a, case.positives(a))
            missed = histogram(a, case.negatives(a)) if case.negatives(a) else torch.zeros_like(found)
            seen = (found + missed).cumsum(0)
            filled = found > 0
            terms.append(1 - sum((found * found.cumsum(0))[filled] / seen[filled]) / len(case.positives(a)))
        return mean(terms)

    return compute


ORACLES = [
    ("nt_xent", {}, peer(pml.NTXentLoss(temperature=0.1)), DIRECTIONS),
    ("nt_xent", {"temperature": 0.5}, peer(pml.NTXentLoss(temperature=0.5)), DIRECTIONS),
    ("decoupled_contrastive", {}, decoupled(0.1), DIRECTIONS),
    ("decoupled_contrastive", {"temperature": 0.5, "weighting": "von_mises"}, decoupled(0.5, 0.5), DIRECTIONS),
    ("hyperbolic_contrastive", {}, hyperbolic(0.1, 2.3, 0.2), ("permutation", "rotation")),
    (
        "hyperbolic_contrastive",
        {"curvature": 1, "radius": 0.9, "temperature": 0.5},
        hyperbolic(1.0, 0.9, 0.5),
        ("permutation", "rotation"),
    ),
    ("tuple_hinge", {}, tuple_hinge(0.0), DIRECTIONS),
    ("tuple_hinge", {"margin": 0.5}, tuple_hinge(0.5), DIRECTIONS),
    ("tuplet_margin", {}, tuplet_margin(5.73, 64), DIRECTIONS),
    ("tuplet_margin", {"beta": 20, "scale": 8}, tuplet_margin(20, 8), DIRECTIONS),
    ("tuplet_margin", {}, peer(pml.TupletMarginLoss(margin=5.73, scale=64)), DIRECTIONS),
    ("lifted", {}, lifted(1.0)),
    ("lifted", {"margin": 0.2, "squared": False}, lifted(0.2, squared=False)),
    ("lifted_hard", {}, lifted_hard(1.0)),
    ("lifted_hard", {"margin": 0.3}, lifted_hard(0.3)),
    ("generalized_lifted", {}, generalized_lifted(1.0)),
    ("generalized_lifted", {"margin": -0.0}, generalized_lifted(0.0)),
    ("n_pairs", {}, n_pairs(0.02), ("rotation",)),
    ("n_pairs", {"l2": 0}, n_pairs(0.0), ("rotation",)),
    ("nca", {}, nca(True, 1.0)),
    ("nca", {"log": False, "scale": 0.7}, nca(False, 0.7)),
    ("fastap", {}, fastap(10), DIRECTIONS),
    ("fastap", {"bins": 4}, fastap(4), DIRECTIONS),
]
