"""Oracles of the losses for several views: loops from the papers, and pytorch-metric-learning where it has one."""

import runpy
from pathlib import Path

import torch
from pytorch_metric_learning import losses as pml

peer = runpy.run_path(str(Path(__file__).parent / "oracles_structured.py"))["peer"]
DIRECTIONS = ("permutation", "rotation", "scaling")
MOVES = ("permutation", "translation")


def supcon(temperature):
    def compute(case, _):
        terms = []
        for a in case.anchors:
            positives, others = case.positives(a), case.positives(a) + case.negatives(a)
            if positives:
                whole = torch.log(sum(torch.exp(case.s(a, j) / temperature) for j in others))
                terms.append(-sum(case.s(a, p) / temperature - whole for p in positives) / len(positives))
        return sum(terms) / max(len(terms), 1)

    return compute


ORACLES = [
    ("sigreg", {"directions": 4}, None, ("permutation",)),
    ("sigreg", {"balance": 0.5, "directions": 2}, None, ("permutation",)),
    ("graded_contrastive", {}, None, DIRECTIONS),
    ("graded_contrastive", {"temperature": 0.5, "bandwidth": 2}, None, DIRECTIONS),
    ("graded_contrastive", {"bandwidth": 0}, supcon(0.1), DIRECTIONS),
    ("supcon", {}, supcon(0.1), DIRECTIONS),
    ("supcon", {"temperature": 0.5}, peer(pml.SupConLoss(temperature=0.5)), DIRECTIONS),
    ("barlow_twins", {}, None, MOVES),
    ("barlow_twins", {"off_diagonal": 1}, None, MOVES),
    ("vicreg", {}, None, MOVES),
    ("vicreg", {"invariance": 1, "variance": 0, "covariance": 3}, None, MOVES),
]
