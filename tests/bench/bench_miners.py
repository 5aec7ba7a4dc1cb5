"""Mining with its loss against pytorch-metric-learning and the classical numpy selector; the same value first."""

from itertools import combinations

import numpy as np
import torch
from interleaved import medians, row, step
from pytorch_metric_learning import distances, reducers
from pytorch_metric_learning import losses as peer_losses
from pytorch_metric_learning import miners as peers
from torch.nn.functional import normalize

from dmlviz import losses, miners
from dmlviz.ops.labeled_batch import LabeledBatch

MARGIN = 0.2
EUCLIDEAN = distances.LpDistance(normalize_embeddings=False)
PEER_LOSS = peer_losses.TripletMarginLoss(MARGIN, distance=EUCLIDEAN, reducer=reducers.MeanReducer())


def batch(classes, images, d=64):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(classes).repeat_interleave(images)
    centers = torch.randn(classes, d, generator=generator)
    return normalize(centers[labels] + 1.5 * torch.randn(len(labels), d, generator=generator)), labels


def classical(x, labels, semihard):
    """One negative for each unordered positive pair by numpy loops over a distance matrix, as it is usually written."""
    d = torch.cdist(x.detach(), x.detach()).numpy()
    names, generator, triplets = labels.numpy(), np.random.default_rng(0), []
    for label in np.unique(names):
        same, others = np.where(names == label)[0], np.where(names != label)[0]
        for a, p in combinations(same, 2):
            values = d[a, p] - d[a, others] + MARGIN
            hard = np.where((values > 0) & (values < MARGIN))[0] if semihard else np.where(values > 0)[0]
            if len(hard):
                triplets.append([a, p, others[generator.choice(hard)]])
    a, p, n = torch.tensor(np.array(triplets)).T
    return ((x[a] - x[p]).norm(dim=1) - (x[a] - x[n]).norm(dim=1) + MARGIN).relu().mean()


def mined(name, labels, **params):
    mine, loss = miners.build(name, **params), losses.build("triplet", margin=MARGIN)

    def run(x):
        batch = LabeledBatch(x, labels)
        return loss.compute(batch, mine.mine(batch))

    return run


def triplet_rows():
    x, labels = batch(10, 25)
    ours = losses.build("triplet", margin=MARGIN)
    rows = (
        ("random_hard_negative", {"margin": MARGIN}, "all", False),
        ("semihard_random", {"margin": MARGIN}, "semihard", True),
        ("semihard_nearest", {}, "semihard", True),
    )
    for name, params, kind, semihard in rows:
        found = miners.build(name, **params)(x, labels)
        torch.testing.assert_close(ours(x, labels, found), PEER_LOSS(x, labels, tuple(found)), rtol=1e-5, atol=1e-6)
        peer = peers.TripletMarginMiner(MARGIN, kind, distance=EUCLIDEAN)
        work = {
            "ours": step(mined(name, labels, **params), x),
            "pml": step(lambda x, peer=peer: PEER_LOSS(x, labels, peer(x, labels)), x),
            "classical": step(lambda x, semihard=semihard: classical(x, labels, semihard), x),
        }
        row(f"{name} + triplet, 250 × 64", medians(work, 7))


def as_set(index, which=slice(None)):
    return set(zip(*(i.tolist() for i in index[which]), strict=True))


def miner_rows():
    x, labels = batch(16, 16)
    rows = (
        ("batch_hard", {}, peers.BatchHardMiner(distance=EUCLIDEAN), True),
        ("easy_positive", {}, peers.BatchEasyHardMiner("easy", "hard", distance=EUCLIDEAN), False),
        ("multi_similarity", {"epsilon": 0.1}, peers.MultiSimilarityMiner(0.1), True),
        ("distance_weighted", {}, peers.DistanceWeightedMiner(), False),
        ("hard_negative_pairs", {}, peers.PairMarginMiner(0, 1, distance=EUCLIDEAN), False),
    )
    for name, params, peer, same in rows:
        mine = miners.build(name, **params)
        if same:
            ours, theirs = mine(x, labels), peer(x, labels)
            halves = (slice(None),) if len(ours) == 3 else (slice(0, 2), slice(2, 4))
            assert all(as_set(ours, half) == as_set(theirs, half) for half in halves)
        work = {"ours": lambda mine=mine: mine(x, labels), "pml": lambda peer=peer: peer(x, labels)}
        row(f"{name}, 256 × 64", medians(work, 21))
    large = batch(128, 16)
    for name in miners.MINERS:
        mine = miners.build(name)
        row(f"{name}, 2048 × 64", medians({"ours": lambda mine=mine: mine(*large)}, 3))


def main():
    triplet_rows()
    miner_rows()


if __name__ == "__main__":
    main()
