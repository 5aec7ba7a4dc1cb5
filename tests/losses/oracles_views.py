"""Oracles of the losses for several views: loops from the papers, and pytorch-metric-learning where it has one."""

import math
import runpy
from pathlib import Path

import numpy as np
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


def sigreg(balance, directions):
    def compute(case, _):
        n, d = case.x.shape
        terms = []
        for a in case.anchors:
            if case.positives(a):
                mean = sum(case.x[j] for j in [a, *case.positives(a)]) / (1 + len(case.positives(a)))
                terms.append((case.x[a] - mean).square().sum() / d)
        drawn = np.random.default_rng((0, 0)).standard_normal((d, directions))
        statistics = []
        for u in torch.from_numpy(drawn / np.linalg.norm(drawn, axis=0)).T:
            t = torch.linspace(-5, 5, 17, dtype=torch.float64)
            found = sum(torch.exp(1j * t * (u @ case.x[a])) for a in case.anchors) / n
            off = (found - torch.exp(-(t**2) / 2)).abs() ** 2 * torch.exp(-(t**2) / 2)
            statistics.append(n * torch.trapezoid(off, t))
        return (1 - balance) * sum(terms) / len(terms) + balance * sum(statistics) / directions

    return compute


def graded(temperature, bandwidth):
    def compute(case, _):
        terms = []
        for a in case.anchors:
            others = [j for j in case.anchors if j != a]
            whole = torch.log(sum(torch.exp(case.s(a, j) / temperature) for j in others))
            apart = [float(case.labels[a] - case.labels[j]) for j in others]
            weights = [math.exp(-((gap / bandwidth) ** 2) / 2) for gap in apart]
            pulls = [w * (whole - case.s(a, j) / temperature) for w, j in zip(weights, others, strict=True)]
            terms.append(sum(pulls) / sum(weights))
        return sum(terms) / len(terms)

    return compute


ORACLES = [
    ("sigreg", {"directions": 4}, sigreg(0.05, 4), ("permutation",)),
    ("sigreg", {"balance": 0.5, "directions": 2}, sigreg(0.5, 2), ("permutation",)),
    ("graded_contrastive", {}, graded(0.1, 0.5), DIRECTIONS),
    ("graded_contrastive", {"temperature": 0.5, "bandwidth": 2}, graded(0.5, 2), DIRECTIONS),
    ("graded_contrastive", {"bandwidth": 0}, supcon(0.1), DIRECTIONS),
    ("supcon", {}, supcon(0.1), DIRECTIONS),
    ("supcon", {"temperature": 0.5}, peer(pml.SupConLoss(temperature=0.5)), DIRECTIONS),
    ("barlow_twins", {}, barlow_twins(0.01), MOVES),
    ("barlow_twins", {"off_diagonal": 1}, barlow_twins(1.0), MOVES),
    ("vicreg", {}, vicreg(25, 25, 1), MOVES),
    ("vicreg", {"invariance": 1, "variance": 0, "covariance": 3}, vicreg(1, 0, 3), MOVES),
]
