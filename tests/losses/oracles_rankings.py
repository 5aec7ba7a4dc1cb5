"""Oracles of the losses on rankings: loops from the papers, and pytorch-metric-learning where it has one."""

import torch
from pytorch_metric_learning import losses as pml

DIRECTIONS = ("permutation", "rotation", "scaling")


def mean(values):
    return sum(values) / max(len(values), 1)


def ranked_list(alpha, margin, positive_temperature, negative_temperature, balance):
    def weighted(gaps, temperature):
        wrong = [gap for gap in gaps if gap > 0]
        weights = [torch.exp(temperature * gap) for gap in wrong]
        return sum(w * gap for w, gap in zip(weights, wrong, strict=True)) / sum(weights) if wrong else 0.0

    def compute(case, _):
        terms = []
        for a in case.anchors:
            d = [(2 - 2 * case.s(a, j)).sqrt() if j != a else None for j in range(len(case.labels))]
            pull = weighted([d[p] - (alpha - margin) for p in case.positives(a)], positive_temperature)
            push = weighted([alpha - d[n] for n in case.negatives(a)], negative_temperature)
            terms.append((1 - balance) * pull + balance * push)
        return mean(terms)

    return compute


ORACLES = [
    ("smooth_ap", {}, None, DIRECTIONS),
    ("smooth_ap", {"temperature": 0.2}, None, DIRECTIONS),
    ("recall_at_k", {}, None, DIRECTIONS),
    ("recall_at_k", {"k_max": 7, "temperature": 0.2, "k_temperature": 0.5}, None, DIRECTIONS),
    ("roadmap", {}, None, DIRECTIONS),
    (
        "roadmap",
        {"temperature": 0.1, "slope": 3, "delta": 0.2, "near": 0.7, "far": 0.1, "balance": 0.2},
        None,
        DIRECTIONS,
    ),
    ("ranked_list", {}, ranked_list(1.2, 0.4, 0, 10, 0.5), DIRECTIONS),
    (
        "ranked_list",
        {"alpha": 1.5, "margin": 0.6, "positive_temperature": 3, "negative_temperature": 4, "balance": 0.3},
        ranked_list(1.5, 0.6, 3, 4, 0.3),
        DIRECTIONS,
    ),
    # Theirs adds 1e-5 to each weight.
    (
        "ranked_list",
        {"negative_temperature": 4},
        lambda case, _: pml.RankedListLoss(0.4, 4, alpha=1.2)(case.x, case.labels),
        DIRECTIONS,
        2e-4,
    ),
]
