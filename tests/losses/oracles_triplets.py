"""Oracles of the triplet losses: pytorch-metric-learning where it has the formula, else loops from the papers."""

import torch
from pytorch_metric_learning import distances, losses, reducers
from torch import Tensor

MOVES = ("permutation", "rotation", "translation")
DIRECTIONS = ("permutation", "rotation", "scaling")


def peer(case, _, margin, distance, reducer, **settings):
    """The peer's triplet loss over the same triplets."""
    triplets = tuple(torch.tensor(index) for index in zip(*case.triplets, strict=True))
    loss = losses.TripletMarginLoss(margin, distance=distance, reducer=reducer, **settings)
    return loss(case.x, case.labels, triplets)


def peers(margin, power=1, reducer=None, distance=None, **settings):
    distance = distance or distances.LpDistance(normalize_embeddings=False, power=power)
    reducer = reducer or reducers.MeanReducer()
    return lambda case, loss: peer(case, loss, margin, distance, reducer, **settings)


def mean_of(term, distance="euclidean"):
    """The mean of a function of (d_ap, d_an) over the triplets."""

    def compute(case, _):
        d = case.measure(distance)
        values = [term(d(a, p), d(a, n)) for a, p, n in case.triplets]
        return sum(values) / len(values)

    return compute


def total_of(term):
    return lambda case, _: sum(term(case.d(a, p), case.d(a, n)) for a, p, n in case.triplets)


def ratio(margin):
    return lambda near, far: (1 - far / (margin + near)).relu()


def soft(near, far):
    return torch.log(1 + torch.exp(near - far))


def batch_hard(term, distance="euclidean"):
    def compute(case, _):
        d = case.measure(distance)
        values = []
        for a in case.anchors:
            if case.positives(a) and case.negatives(a):
                farthest = max((d(a, p) for p in case.positives(a)), key=Tensor.item)
                values.append(term(farthest, min((d(a, n) for n in case.negatives(a)), key=Tensor.item)))
        return sum(values) / len(values)

    return compute


def hinge(margin):
    return lambda near, far: (margin + near - far).relu()


ORACLES = [
    ("triplet", {}, peers(0.2), MOVES),
    ("triplet", {"margin": 0.5, "reduction": "nonzero"}, peers(0.5, reducer=reducers.AvgNonZeroReducer()), MOVES),
    ("triplet", {"margin": 0.4, "distance": "sqeuclidean"}, peers(0.4, power=2), MOVES),
    ("triplet", {"distance": "cosine"}, peers(0.2, distance=distances.CosineSimilarity()), DIRECTIONS),
    ("triplet", {"margin": 0.3, "reduction": "sum"}, total_of(hinge(0.3)), MOVES),
    ("triplet", {"margin": 0.0}, mean_of(hinge(0.0)), MOVES),
    ("triplet_ratio", {}, mean_of(ratio(0.1)), MOVES),
    ("triplet_ratio", {"margin": 0.7, "reduction": "sum"}, total_of(ratio(0.7)), MOVES),
    ("triplet_ratio", {"distance": "sqeuclidean"}, mean_of(ratio(0.1), "sqeuclidean"), MOVES),
    ("triplet_soft", {}, mean_of(soft), MOVES),
    ("triplet_soft", {"reduction": "sum"}, total_of(soft), MOVES),
    ("triplet_soft", {"distance": "cosine"}, mean_of(soft, "cosine"), DIRECTIONS),
    ("batch_hard", {}, batch_hard(hinge(0.2)), MOVES),
    ("batch_hard", {"margin": "soft", "distance": "sqeuclidean"}, batch_hard(soft, "sqeuclidean"), MOVES),
    ("batch_hard", {"margin": 0.5, "distance": "cosine"}, batch_hard(hinge(0.5), "cosine"), DIRECTIONS),
]
