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


def barlow_twins(off_diagonal):
    def compute(case, _):
        n, d = case.x.shape
        columns = []
        for i in range(d):
            mean = sum(case.x[a, i] for a in range(n)) / n
            deviation = (sum((case.x[a, i] - mean) ** 2 for a in range(n)) / n + 1e-5).sqrt()
            columns.append([(case.x[a, i] - mean) / deviation for a in range(n)])
        pairs = [(a, p) for a in case.anchors for p in case.positives(a)]
        total = 0.0
        for i in range(d):
            for j in range(d):
                correlation = sum(columns[i][a] * columns[j][p] for a, p in pairs) / len(pairs)
                total = total + ((1 - correlation) ** 2 if i == j else off_diagonal * correlation**2)
        return total

    return compute


def vicreg(invariance, variance, covariance):
    def compute(case, _):
        n, d = case.x.shape
        near = sum(case.d(a, p) ** 2 / d for a, p in case.P) / len(case.P)
        means = [sum(case.x[a, i] for a in range(n)) / n for i in range(d)]

        def entry(i, j):
            return sum((case.x[a, i] - means[i]) * (case.x[a, j] - means[j]) for a in range(n)) / (n - 1)

        spread = sum((1 - (entry(i, i) + 1e-4).sqrt()).relu() for i in range(d)) / d
        repeated = sum(entry(i, j) ** 2 for i in range(d) for j in range(d) if i != j) / d
        return invariance * near + variance * spread + covariance * repeated

    return compute


ORACLES = [
    ("supcon", {}, supcon(0.1), DIRECTIONS),
    ("supcon", {"temperature": 0.5}, peer(pml.SupConLoss(temperature=0.5)), DIRECTIONS),
    ("barlow_twins", {}, barlow_twins(0.01), MOVES),
    ("barlow_twins", {"off_diagonal": 1}, barlow_twins(1.0), MOVES),
    ("vicreg", {}, vicreg(25, 25, 1), MOVES),
    ("vicreg", {"invariance": 1, "variance": 0, "covariance": 3}, vicreg(1, 0, 3), MOVES),
]
