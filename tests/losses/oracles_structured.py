"""Oracles of the structured losses: pytorch-metric-learning where it has the formula, else loops from the papers."""

import torch
from pytorch_metric_learning import losses as pml


def peer(loss, **settings):
    """The peer's loss over the same ordered pairs."""

    def compute(case, _):
        a, p = zip(*[(a, p) for a in case.anchors for p in case.positives(a)], strict=True)
        b, n = zip(*[(a, n) for a in case.anchors for n in case.negatives(a)], strict=True)
        return loss(**settings)(case.x, case.labels, tuple(torch.tensor(index) for index in (a, p, b, n)))

    return compute


DIRECTIONS = ("permutation", "rotation", "scaling")

ORACLES = [
    ("nt_xent", {}, peer(pml.NTXentLoss, temperature=0.1), DIRECTIONS),
    ("nt_xent", {"temperature": 0.5}, peer(pml.NTXentLoss, temperature=0.5), DIRECTIONS),
]
