"""Oracles of the losses with class weights: pytorch-metric-learning where it has the formula, else the paper's."""

import math
import warnings

import torch
from pytorch_metric_learning import losses
from torch.nn.functional import cross_entropy

DIRECTIONS = ("permutation", "scaling")
ORDER = ("permutation",)


def peer(name, weights="W", shape=lambda w: w.T, **settings):
    """The peer's loss with our weights in its place."""

    def compute(case, loss):
        sizes = {"num_classes": loss.num_classes, "embedding_size": loss.embedding_dim}
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # theirs, of NumPy
            theirs = getattr(losses, name)(**sizes, **settings)
        delattr(theirs, weights)
        setattr(theirs, weights, shape(loss.weight))
        return theirs.double()(case.x, case.labels)

    return compute


def softmax(case, loss):
    return cross_entropy(case.x @ loss.weight.T + loss.bias, case.labels)


def smoothed(share):
    def compute(case, loss):
        logs = (case.x @ loss.weight.T + loss.bias).log_softmax(1)
        terms = [-(1 - share) * row[c] - share * row.sum() / len(row) for row, c in zip(logs, case.labels, strict=True)]
        return sum(terms) / len(terms)

    return compute


def center(weight):
    def compute(case, loss):
        distances = [(f - loss.centers[c]).square().sum() for f, c in zip(case.x, case.labels, strict=True)]
        return softmax(case, loss) + weight * sum(distances) / len(distances)

    return compute


def prototypical(support, power=2):
    def compute(case, _):
        classes = sorted(set(case.labels.tolist()))
        members = {c: [i for i in case.anchors if case.labels[i] == c] for c in classes}
        used = {c: members[c][: max(1, min(support, len(members[c]) - 1))] for c in classes}
        prototypes = torch.stack([case.x[used[c]].mean(0) for c in classes])
        terms = []
        for c in classes:
            for i in set(members[c]) - set(used[c]):
                logits = -((case.x[i] - prototypes).square().sum(1).sqrt() ** power)
                terms.append(-logits.log_softmax(0)[classes.index(c)])
        return sum(terms) / len(terms)

    return compute


ORACLES = [
    ("softmax", {}, softmax, ORDER),
    ("softmax", {"label_smoothing": 0.2}, smoothed(0.2), ORDER),
    ("normalized_softmax", {}, peer("NormalizedSoftmaxLoss", temperature=1 / 20), DIRECTIONS),
    ("large_margin_softmax", {}, peer("LargeMarginSoftmaxLoss", margin=4, scale=1), ORDER),
    ("large_margin_softmax", {"margin": 3}, peer("LargeMarginSoftmaxLoss", margin=3, scale=1), ORDER),
    ("sphereface", {}, peer("SphereFaceLoss", margin=4, scale=1), ORDER),
    ("sphereface", {"margin": 1}, peer("SphereFaceLoss", margin=1, scale=1), ORDER),
    ("sphereface", {"margin": 1.5}, None, ORDER),
    ("sphereface", {"margin": 2.7}, None, ORDER),
    ("cosface", {}, peer("CosFaceLoss", margin=0.35, scale=64), DIRECTIONS),
    ("arcface", {}, peer("ArcFaceLoss", margin=math.degrees(0.5), scale=64), DIRECTIONS),
    ("arcface", {"margin": 1.2, "scale": 5}, peer("ArcFaceLoss", margin=math.degrees(1.2), scale=5), DIRECTIONS),
    ("subcenter_arcface", {}, peer("SubCenterArcFaceLoss", margin=math.degrees(0.5), sub_centers=3), DIRECTIONS),
    (
        "subcenter_arcface",
        {"centers": 2, "margin": 1.2, "scale": 5},
        peer("SubCenterArcFaceLoss", margin=math.degrees(1.2), scale=5, sub_centers=2),
        DIRECTIONS,
    ),
    ("magface", {}, None, ORDER),
    (
        "magface",
        {"least_margin": 0.2, "greatest_margin": 1.4, "shortest": 0.8, "longest": 1.1, "regularizer": 2, "scale": 8},
        None,
        ORDER,
    ),
    ("adaface", {}, None, ORDER),
    ("adaface", {"margin": 1.2, "concentration": 1, "scale": 5}, None, ORDER),
    ("combined_margin", {}, None, DIRECTIONS),
    ("combined_margin", {"m1": 3, "m2": 0.7, "m3": 0.1, "scale": 8}, None, DIRECTIONS),
    ("combined_margin", {"m1": 0.9, "m2": 0.4, "m3": 0.15}, None, DIRECTIONS),
    ("combined_margin", {"m1": 2.3, "m2": 0.7, "scale": 8}, None, DIRECTIONS),
    ("combined_margin", {"m2": 1.5, "scale": 8}, None, DIRECTIONS),
    ("proxy_nca", {}, peer("ProxyNCALoss", "proxies", lambda w: w, softmax_scale=9), DIRECTIONS),
    ("proxy_anchor", {}, peer("ProxyAnchorLoss", "proxies", lambda w: w), DIRECTIONS),
    ("proxy_anchor", {"alpha": 8, "margin": 0.3}, None, DIRECTIONS),
    ("soft_triple", {}, peer("SoftTripleLoss", "fc"), DIRECTIONS),
    (
        "soft_triple",
        {"centers": 3, "la": 5, "gamma": 0.3, "margin": 0.2},
        peer("SoftTripleLoss", "fc", centers_per_class=3, la=5, gamma=0.3, margin=0.2),
        DIRECTIONS,
    ),
    ("center", {}, center(0.003), ORDER),
    ("center", {"weight": 0.5}, center(0.5), ORDER),
    ("prototypical", {}, prototypical(5), ("rotation", "translation")),
    ("prototypical", {"support": 1, "distance": "euclidean"}, prototypical(1, 1), ("rotation", "translation")),
    ("prototypical", {"support": 2}, prototypical(2), ("rotation", "translation")),
]
