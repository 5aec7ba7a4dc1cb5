"""Losses with class weights against pytorch-metric-learning, or against the formula in plain torch calls.

160 × 64 embeddings, 10 classes (the app's batch); loss and all gradients asserted equal in float64, timed in float32.
"""

import math
import warnings

import torch
from bench_losses import batch
from interleaved import kept_megabytes, medians, row
from pytorch_metric_learning import losses as pml
from torch.nn.functional import cross_entropy, linear, normalize

from dmlviz import losses

warnings.filterwarnings("ignore", category=DeprecationWarning)
AT_LEAST = 1 / 1.2


def step(loss, x, weights):
    """Loss and gradient of embeddings and weights, as one call; returns the value and the gradients."""

    def run():
        leaf = x.detach().requires_grad_()
        value = loss(leaf)
        return value.detach(), *torch.autograd.grad(value, [leaf, *weights])

    return run


def compare(name, ours, peer, labels, x, at_least=None, rounds=201):
    """One row; `peer(loss)` gives a function of embeddings that uses our loss's weights."""
    wide = ours.double()
    theirs = peer(wide)
    sides = {"ours": lambda x: wide(x, labels), "peer": theirs}
    mine, expected = (step(side, x.double(), list(wide.parameters()))() for side in sides.values())
    for one, other in zip(mine, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)
    narrow = ours.float()
    theirs = peer(narrow)
    weights = list(narrow.parameters())
    times = medians({"ours": step(lambda x: narrow(x, labels), x, weights), "peer": step(theirs, x, weights)}, rounds)
    leaf = x.clone().requires_grad_()
    kept, theirs_kept = (kept_megabytes(loss) for loss in (lambda: narrow(leaf, labels), lambda: theirs(leaf)))
    missed = at_least is not None and times["peer"] / times["ours"] < at_least
    asked = "" if at_least is None else f"asked {at_least:.2g} ×{'  NOT REACHED' if missed else ''}"
    row(f"{name}, {len(x)} × {x.shape[1]}", times, f"kept {kept:.2f} MB, peer {theirs_kept:.2f} MB   {asked}")


def module(name, labels, weights="W", shape=lambda w: w.T, **settings):
    """The peer's loss with our weights in its place."""

    def with_weights_of(ours):
        sizes = {"num_classes": ours.num_classes, "embedding_size": ours.embedding_dim}
        theirs = getattr(pml, name)(**sizes, **settings).to(ours.weight.dtype)
        delattr(theirs, weights)

        def call(x):
            setattr(theirs, weights, shape(ours.weight))
            return theirs(x, labels)

        return call

    return with_weights_of


def softmax(labels):
    return lambda ours: lambda x: cross_entropy(linear(x, ours.weight, ours.bias), labels)


def center(labels):
    def with_weights_of(ours):
        return lambda x: (
            cross_entropy(linear(x, ours.weight, ours.bias), labels)
            + 0.003 * ((x - ours.centers[labels]).square().sum(dim=1).mean())
        )

    return with_weights_of


def combined_margin(labels):
    """By arccosine, as the paper's own code does; θ + 0.3 stays below π here."""

    def with_weights_of(ours):
        def call(x):
            cosine = normalize(x) @ normalize(ours.weight).T
            own = cosine.gather(1, labels[:, None]).arccos()
            return cross_entropy(64 * cosine.scatter(1, labels[:, None], (own + 0.3).cos() - 0.2), labels)

        return call

    return with_weights_of


def prototypical(x, labels):
    """Support and queries sliced out of the batch, which lies class after class."""
    by_class = x.view(10, -1, x.shape[1])
    prototypes, queries = by_class[:, :5].mean(dim=1), by_class[:, 5:].flatten(0, 1)
    return cross_entropy(-(torch.cdist(queries, prototypes) ** 2), labels.view(10, -1)[:, 5:].flatten())


def main():
    x, labels = batch(10, 16)
    for name, peer in (
        ("normalized_softmax", module("NormalizedSoftmaxLoss", labels, temperature=1 / 20)),
        ("large_margin_softmax", module("LargeMarginSoftmaxLoss", labels, margin=4, scale=1)),
        ("sphereface", module("SphereFaceLoss", labels, margin=4, scale=1)),
        ("cosface", module("CosFaceLoss", labels, margin=0.35, scale=64)),
        ("arcface", module("ArcFaceLoss", labels, margin=math.degrees(0.5), scale=64)),
        ("proxy_nca", module("ProxyNCALoss", labels, "proxies", lambda w: w, softmax_scale=9)),
        ("soft_triple", module("SoftTripleLoss", labels, "fc")),
    ):
        compare(name, losses.build(name, embedding_dim=64, num_classes=10), peer, labels, x, AT_LEAST)
    for name, peer in (
        ("softmax", softmax(labels)),
        ("center", center(labels)),
        ("combined_margin", combined_margin(labels)),
        ("prototypical", lambda _: lambda x: prototypical(x, labels)),
    ):
        sizes = {"embedding_dim": 64, "num_classes": 10}
        compare(f"{name} (plain torch)", losses.build(name, **sizes), peer, labels, x)


if __name__ == "__main__":
    main()
