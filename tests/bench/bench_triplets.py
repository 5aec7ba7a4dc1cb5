"""Triplet and proxy losses against pytorch-metric-learning and a classical numpy selector; value and gradient first."""

import math
import warnings
from itertools import combinations

import numpy as np
import torch
from interleaved import kept_megabytes, medians, row, step
from pytorch_metric_learning import distances, reducers
from pytorch_metric_learning import losses as peers
from pytorch_metric_learning.miners import BatchHardMiner
from torch.nn.functional import normalize

from dmlviz import losses, miners

warnings.filterwarnings("ignore", category=DeprecationWarning)
EUCLIDEAN = distances.LpDistance(normalize_embeddings=False)
MEAN = reducers.MeanReducer()


def batch(classes, images, d=64):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(classes).repeat_interleave(images)
    centers = torch.randn(classes, d, generator=generator)
    return normalize(centers[labels] + 1.5 * torch.randn(len(labels), d, generator=generator)), labels


def classical(x, labels, margin=0.2):
    """All triplets as Python lists, as the classical siamese-triplet code selects them, and the loss over them."""
    names, triplets = labels.numpy(), []
    for label in set(names):
        same = np.where(names == label)[0]
        others = np.where(names != label)[0]
        for a, p in combinations(same, 2):
            triplets += [[a, p, n] for n in others]
    index = torch.tensor(np.array(triplets))
    ap = (x[index[:, 0]] - x[index[:, 1]]).pow(2).sum(1).sqrt()
    an = (x[index[:, 0]] - x[index[:, 2]]).pow(2).sum(1).sqrt()
    return (ap - an + margin).relu().mean()


def compare(name, ours, theirs, x, rounds=11, exact=True, **others):
    """Assert equal value and gradient in float64, then time both in float32 and print."""
    if exact:
        wide = x.double()
        torch.testing.assert_close(ours(wide), theirs(wide), rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(step(ours, wide)(), step(theirs, wide)(), rtol=1e-6, atol=1e-8)
    work = {"ours": step(ours, x), "pml": step(theirs, x)}
    times = medians(work | {key: step(loss, x) for key, loss in others.items()}, rounds)
    leaf = x.clone().requires_grad_()
    kept = f"kept {kept_megabytes(lambda: ours(leaf)):6.1f} MB, pml {kept_megabytes(lambda: theirs(leaf)):7.1f} MB"
    row(name, times, kept)


def with_labels(loss, labels):
    return lambda x: loss(x, labels)


def triplet_rows():
    x, labels = batch(10, 25)
    ours = losses.build("triplet")
    peer = peers.TripletMarginLoss(0.2, distance=EUCLIDEAN, reducer=MEAN)
    every = {"classical": lambda x: classical(x, labels)}
    compare("triplet, all, 250 × 64", with_labels(ours, labels), with_labels(peer, labels), x, **every)
    soft = peers.TripletMarginLoss(0, smooth_loss=True, distance=EUCLIDEAN, reducer=MEAN)
    compare(
        "triplet_soft, all, 250 × 64", with_labels(losses.build("triplet_soft"), labels), with_labels(soft, labels), x
    )

    large, names = batch(128, 16)
    run = step(with_labels(ours, names), large)
    print(f"{'triplet, all, 2048 × 64':40s} ours {medians({'ours': run}, 5)['ours']:8.2f} ms")

    x, labels = batch(16, 16)
    angular = peers.AngularLoss(40, reducer=MEAN)

    def on_sphere(x):
        return angular(normalize(x), labels)  # the peer forgets to normalize the negatives

    compare("angular, 256 × 64", with_labels(losses.build("angular"), labels), on_sphere, x)

    mine = miners.build("random_hard_negative")
    found = mine(x, labels)
    listed = (lambda x: ours(x, labels, found)), (lambda x: peer(x, labels, tuple(found)))
    compare("triplet, 3,840 listed, 256 × 64", *listed, x, rounds=31)
    hard, hard_miner = losses.build("batch_hard"), BatchHardMiner(distance=EUCLIDEAN)
    compare(
        "batch_hard, 256 × 64",
        with_labels(hard, labels),
        lambda x: peer(x, labels, hard_miner(x, labels)),
        x,
        rounds=31,
    )


def proxy_rows(classes):
    x, labels = batch(classes, 256 // classes)
    names = {
        "normalized_softmax": ("NormalizedSoftmaxLoss", "W", {"temperature": 1 / 20}),
        "large_margin_softmax": ("LargeMarginSoftmaxLoss", "W", {"scale": 1}),
        "sphereface": ("SphereFaceLoss", "W", {"scale": 1}),
        "cosface": ("CosFaceLoss", "W", {}),
        "arcface": ("ArcFaceLoss", "W", {"margin": math.degrees(0.5)}),
        "proxy_nca": ("ProxyNCALoss", "proxies", {"softmax_scale": 9}),
        "soft_triple": ("SoftTripleLoss", "fc", {}),
    }
    for name, (peer_name, weights, settings) in names.items():
        ours = losses.build(name, embedding_dim=64, num_classes=classes)
        peer = getattr(peers, peer_name)(num_classes=classes, embedding_size=64, **settings)
        value = ours.weight.detach() if weights == "proxies" else ours.weight.detach().T.contiguous()
        getattr(peer, weights).data.copy_(value)

        def both(loss, labels=labels):
            parameters = list(loss.parameters())
            return lambda x: loss(x, labels) + 0 * sum(p.sum() for p in parameters)

        torch.testing.assert_close(step(both(ours), x)(), step(both(peer), x)(), rtol=1e-3, atol=1e-5)
        compare(f"{name}, {len(x)} × 64, {classes} classes", both(ours), both(peer), x, rounds=31, exact=False)


def main():
    triplet_rows()
    for classes in (10, 128):
        proxy_rows(classes)


if __name__ == "__main__":
    main()
