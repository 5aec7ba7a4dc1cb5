"""Oracles of the triplet losses: pytorch-metric-learning where it has the formula, else loops from the papers."""

import math
from itertools import permutations, product

import torch
from pytorch_metric_learning import distances, losses, reducers
from torch import Tensor
from torch.nn.functional import normalize

from dmlviz.miners.tuples import Triplets

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


def two_terms(margin):
    return lambda near, far: near + (margin - far).relu()


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


def angular(alpha):
    if_listed = losses.AngularLoss(alpha=alpha, reducer=reducers.MeanReducer())

    def compute(case, _):
        if not isinstance(case.tuples, Triplets):
            return if_listed(normalize(case.x), case.labels)  # which forgets to for negatives
        x, tangent = normalize(case.x), math.tan(math.radians(alpha)) ** 2
        sums = {}
        for a, p, n in case.triplets:
            value = 4 * tangent * (x[a] + x[p]) @ x[n] - 2 * (1 + tangent) * x[a] @ x[p]
            sums[a, p] = sums.get((a, p), 1) + value.exp()
        return sum(total.log() for total in sums.values()) / len(sums)

    return compute


def members(case):
    """Images of each class, in the order of the labels."""
    return {c: [i for i in case.anchors if case.labels[i] == c] for c in sorted(set(case.labels.tolist()))}


def coupled_clusters(margin):
    def compute(case, _):
        values = []
        for own in members(case).values():
            mean = case.x[own].mean(0)
            nearest = min(((case.x[i] - mean).norm() for i in case.anchors if i not in own), key=Tensor.item)
            values += [((case.x[i] - mean).norm() + margin - nearest).relu() for i in own if len(own) > 1]
        return sum(values) / len(values)

    return compute


def hard_cluster(margin):
    def compute(case, _):
        classes = members(case)
        means = {c: case.x[own].mean(0) for c, own in classes.items()}
        values = []
        for c, own in classes.items():
            if len(own) > 1:
                widest = max(((case.x[i] - means[c]).square().sum() for i in own), key=Tensor.item)
                gaps = [(means[c] - means[other]).square().sum() for other in classes if other != c]
                values.append((widest - min(gaps, key=Tensor.item) + margin).relu())
        return sum(values) / len(values)

    return compute


def hierarchical(beta, levels):
    """Ge et al. 2018 word by word: the classes of each level are merged by a search through the graph."""

    def compute(case, _):
        x, classes = normalize(case.x), members(case)

        def squared(i, j):
            return (x[i] - x[j]).square().sum()

        def mean(pairs):
            return sum(float(squared(i, j).detach()) for i, j in pairs) / len(pairs)

        spread = {c: mean(list(permutations(own, 2))) if len(own) > 1 else 0.0 for c, own in classes.items()}
        several = [spread[c] for c, own in classes.items() if len(own) > 1]
        start = sum(several) / len(several)
        between = {(c, k): mean(list(product(classes[c], classes[k]))) for c, k in permutations(classes, 2)}
        merged = {}
        for level in range(1, levels + 1):
            threshold = start + level * (4 - start) / levels
            for c in classes:
                reached, todo = {c}, [c]
                while todo:
                    here = todo.pop()
                    new = {k for k in classes if k not in reached and between[here, k] < threshold}
                    reached, todo = reached | new, [*todo, *new]
                for k in reached - {c}:
                    merged.setdefault((c, k), threshold)
        values = []
        for a, p, n in case.triplets:
            y, other = int(case.labels[a]), int(case.labels[n])
            margin = beta + merged[y, other] - spread[y]
            values.append((squared(a, p) - squared(a, n) + margin).relu())
        return sum(values) / len(values)

    return compute


def swapped(case, _):
    """Softplus of a tuplet by cosines, the nearer of a and p to the negative counted (both formulas of `custom`)."""
    x, d = normalize(case.x), case.d
    values = [
        torch.log1p(torch.exp((x[a] @ x[n] - x[a] @ x[p]) / 0.5)) + d(a, p).square() - min(d(a, n), d(p, n)).tanh()
        for a, p, n in case.triplets
    ]
    return sum(values) / len(values)


SWAPPED = "softplus((s_an - s_ap) / 0.5) + d_ap ** 2 - tanh(min(d_an, d_pn))"

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
    ("triplet_two_terms", {}, mean_of(two_terms(1)), MOVES),
    ("triplet_two_terms", {"margin": 1.6, "reduction": "sum"}, total_of(two_terms(1.6)), MOVES),
    ("triplet_two_terms", {"distance": "cosine"}, mean_of(two_terms(1), "cosine"), DIRECTIONS),
    ("custom_triplet", {}, mean_of(hinge(0.2)), MOVES),
    ("custom_triplet", {"formula": "log(1 + exp(d_ap - d_an))", "reduction": "sum"}, total_of(soft), MOVES),
    (
        "custom_triplet",
        {"formula": "relu(1 - d_an / (0.1 + d_ap))", "distance": "sqeuclidean"},
        mean_of(ratio(0.1), "sqeuclidean"),
        MOVES,
    ),
    ("custom_triplet", {"formula": SWAPPED}, swapped, ("permutation", "rotation")),
    ("triplet_soft", {}, mean_of(soft), MOVES),
    ("triplet_soft", {"reduction": "sum"}, total_of(soft), MOVES),
    ("triplet_soft", {"distance": "cosine"}, mean_of(soft, "cosine"), DIRECTIONS),
    ("batch_hard", {}, batch_hard(hinge(0.2)), MOVES),
    ("batch_hard", {"margin": "soft", "distance": "sqeuclidean"}, batch_hard(soft, "sqeuclidean"), MOVES),
    ("batch_hard", {"margin": 0.5, "distance": "cosine"}, batch_hard(hinge(0.5), "cosine"), DIRECTIONS),
    ("angular", {}, angular(40), DIRECTIONS),
    ("angular", {"alpha": 55}, angular(55), DIRECTIONS),
    ("coupled_clusters", {}, coupled_clusters(0.2), MOVES),
    ("coupled_clusters", {"margin": 1.5}, coupled_clusters(1.5), MOVES),
    ("hard_cluster", {}, hard_cluster(1), MOVES),
    ("hard_cluster", {"margin": 2}, hard_cluster(2), MOVES),
    ("hierarchical_triplet", {}, hierarchical(0.1, 16), DIRECTIONS),
    ("hierarchical_triplet", {"beta": 0.5, "levels": 5}, hierarchical(0.5, 5), DIRECTIONS),
]
