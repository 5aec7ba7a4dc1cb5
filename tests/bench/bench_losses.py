"""Losses of pairs, triplets and structures against pytorch-metric-learning, or the formula in plain torch calls.

Loss and gradient of one batch: asserted equal in float64, then timed in float32. `--large` adds 256 × 64 NT-Xent and
lifted structure, for which the peer needs several gigabytes and half a minute a step.
"""

import sys
import warnings
from itertools import combinations

import numpy as np
import torch
from interleaved import kept_megabytes, medians, row, step
from pytorch_metric_learning import distances, reducers
from pytorch_metric_learning import losses as pml
from pytorch_metric_learning import miners as pml_miners
from torch.nn.functional import cosine_similarity, normalize, softplus

from dmlviz import losses, miners
from dmlviz.lessons.code import losses as shown
from dmlviz.miners.tuples import AnchoredPairs
from dmlviz.ops.labeled_batch import LabeledBatch

warnings.filterwarnings("ignore", category=DeprecationWarning)
EUCLIDEAN = distances.LpDistance(normalize_embeddings=False)
SQUARED = distances.LpDistance(normalize_embeddings=False, power=2)
SNR = distances.SNRDistance(normalize_embeddings=False)
MEAN = reducers.MeanReducer()


def batch(classes, images, d=64):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(classes).repeat_interleave(images)
    centers = torch.randn(classes, d, generator=generator)
    return normalize(centers[labels] + torch.randn(len(labels), d, generator=generator)), labels


def assert_equal(ours, peer, x):
    wide = x.double()
    torch.testing.assert_close(ours(wide), peer(wide), rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(step(ours, wide)(), step(peer, wide)(), rtol=1e-6, atol=1e-9)


def compare(name, ours, peer, x, at_least, rounds=21):
    """One row; `ours` and `peer` map embeddings to a loss."""
    assert_equal(ours, peer, x)
    times = medians({"ours": step(ours, x), "peer": step(peer, x)}, rounds)
    leaf = x.clone().requires_grad_()
    kept = f"kept {kept_megabytes(lambda: ours(leaf)):5.2f} MB, peer {kept_megabytes(lambda: peer(leaf)):7.2f} MB"
    asked = "" if at_least is None else f"asked {at_least:.2g} ×"
    missed = at_least is not None and times["peer"] / times["ours"] < at_least
    row(f"{name}, {len(x)} × {x.shape[1]}", times, f"{kept}   {asked}{'  NOT REACHED' if missed else ''}")


def against(peer, labels, name, **params):
    """Our loss and the peer's module as functions of embeddings."""
    ours = losses.build(name, **params)
    return (lambda x: ours(x, labels)), (lambda x: peer(x, labels))


def every_triplet():
    """All triplets of 250 images, also as the classical siamese-triplet code lists them with NumPy."""
    x, labels = batch(10, 25)
    soft = pml.TripletMarginLoss(0, smooth_loss=True, distance=EUCLIDEAN, reducer=MEAN)
    compare("triplet_soft, all", *against(soft, labels, "triplet_soft"), x, None)
    ours, peer = against(pml.TripletMarginLoss(0.2, distance=EUCLIDEAN, reducer=MEAN), labels, "triplet")
    assert_equal(ours, peer, x)

    def classical(x):
        names, triplets = labels.numpy(), []
        for label in set(names):
            same, others = np.where(names == label)[0], np.where(names != label)[0]
            triplets += [[a, p, n] for a, p in combinations(same, 2) for n in others]
        a, p, n = torch.tensor(np.array(triplets)).T
        return ((x[a] - x[p]).pow(2).sum(1).sqrt() - (x[a] - x[n]).pow(2).sum(1).sqrt() + 0.2).relu().mean()

    work = {"ours": ours, "peer": peer, "classical": classical}
    row("triplet, all, 250 × 64", medians({name: step(loss, x) for name, loss in work.items()}, 11))


def cubes(classes, images, rounds):
    """What the peer does with a positive-pairs × negative-pairs matrix."""
    x, labels = batch(classes, images)
    compare("nt_xent", *against(pml.NTXentLoss(0.1), labels, "nt_xent"), x, 200 if len(x) < 256 else 1000, rounds)
    compare("lifted", *against(pml.LiftedStructureLoss(distance=EUCLIDEAN), labels, "lifted"), x, 100, rounds)
    if len(x) < 256:
        compare("tuplet_margin", *against(pml.TupletMarginLoss(), labels, "tuplet_margin"), x, 100, rounds)


def listed(x, labels):
    """`margin` and `multi_similarity` over the same tuples as the peer."""
    a, p = (labels[:, None] == labels).fill_diagonal_(False).nonzero(as_tuple=True)
    others = (labels[a, None] != labels).float()
    n = torch.multinomial(others, 1, generator=torch.Generator().manual_seed(0))[:, 0]
    ours = losses.build("margin")
    # The peer weighs pairs by the triplets they are in: equal where each is in one.
    peer = pml.MarginLoss(learn_beta=True, distance=EUCLIDEAN)
    compare(
        "margin, one negative a positive",
        lambda x: ours(x, labels, AnchoredPairs(a, p, a, n)),
        lambda x: peer(x, labels, (a, p, n)),
        x,
        1 / 1.2,
    )
    similarity, mine = losses.build("multi_similarity"), miners.build("multi_similarity", epsilon=0.1)
    peer_loss, peer_miner = pml.MultiSimilarityLoss(2, 50, 0.5), pml_miners.MultiSimilarityMiner(0.1)

    def mined(x):
        batch = LabeledBatch(x, labels)
        return similarity.compute(batch, mine.mine(batch))

    compare("multi_similarity, mined", mined, lambda x: peer_loss(x, labels, peer_miner(x, labels)), x, 1.5)


def margin_over_everything(x, labels):
    """All pairs. The peer lists them as triplets, in which a pair comes as often as its anchor has pairs of the other
    kind: our terms, weighted like that, must give its value and gradient.
    """
    peer = pml.MarginLoss(learn_beta=True, triplets_per_anchor="all", distance=EUCLIDEAN)
    ours, peer = against(peer, labels, "margin")
    terms = losses.build("margin", reduction="none")
    i, j = torch.triu_indices(len(x), len(x), 1)
    same = labels[i] == labels[j]
    weight = torch.where(same, (labels != labels[0]).sum(), (labels == labels[0]).sum() - 1)

    def weighted(x):
        values = terms(x, labels)
        return (weight * values).sum() / (weight * (values > 0)).sum()

    assert_equal(weighted, peer, x)
    times = medians({"ours": step(ours, x), "peer": step(peer, x)}, 5)
    row(f"margin, all pairs, {len(x)} × {x.shape[1]}", times, "asked 1.5 ×")


def peers(x, labels):
    for name, params, peer, at_least in (
        ("snr_contrastive", {"regularizer": 0}, pml.SignalToNoiseRatioContrastiveLoss(distance=SNR, reducer=MEAN), 1.5),
        ("fastap", {}, pml.FastAPLoss(10), 1.5),
        ("multi_similarity", {}, pml.MultiSimilarityLoss(2, 50, 0.5), 1.5),
        ("contrastive_linear", {}, pml.ContrastiveLoss(distance=EUCLIDEAN, reducer=MEAN), 1 / 1.2),
        ("circle", {}, pml.CircleLoss(0.4, 80), 1 / 1.2),
        ("generalized_lifted", {}, pml.GeneralizedLiftedStructureLoss(distance=EUCLIDEAN), 1 / 1.2),
        ("nca", {}, pml.NCALoss(distance=SQUARED), 1 / 1.2),
    ):
        compare(name, *against(peer, labels, name, **params), x, at_least)
    pairs, classes = batch(128, 2)
    compare(
        "n_pairs",
        *against(
            pml.NPairsLoss(distance=distances.DotProductSimilarity(normalize_embeddings=False)),
            classes,
            "n_pairs",
            l2=0,
        ),
        pairs,
        1 / 1.2,
    )


def plain(x, labels):
    """Losses that the peer lacks, against the formula as one would write it: what exact distances and safety cost."""
    i, j = torch.triu_indices(len(x), len(x), 1)
    same = labels[i] == labels[j]

    def pair(formula, measure=lambda x: torch.cdist(x, x)[i, j]):
        return lambda x: formula(measure(x)).mean()

    def cosines(x):
        return (normalize(x) @ normalize(x).T)[i, j]

    def tuple_hinge(x):
        s = cosine_similarity(x[:, None], x, dim=2)
        nearest = s.masked_fill(labels[:, None] == labels, -2).amax(1)
        positive = (labels[:, None] == labels).fill_diagonal_(False)
        return (nearest[:, None] - s)[positive].relu().mean()

    def lifted_hard(x):
        d = torch.cdist(x, x)
        nearest = (1 - d).masked_fill(labels[:, None] == labels, -1e9).amax(1)
        return (torch.maximum(nearest[i], nearest[j]) + d[i, j])[same].relu().mean()

    logistic = losses.build("logistic_pair")
    for name, peer in (
        ("contrastive", pair(lambda d: torch.where(same, d, (1 - d).relu()) ** 2)),
        ("contrastive_double", pair(lambda d: torch.where(same, d**2 - 0.2, 1 - d**2).relu() ** 2)),
        ("contrastive_no_margin", pair(lambda d: torch.where(same, d**2, -(d**2)))),
        ("cosine_pair", pair(lambda s: (same.to(s.dtype) - s) ** 2, cosines)),
        (
            "distance_logistic",
            pair(
                lambda d: torch.where(
                    same,
                    softplus(d - 1, threshold=50) - softplus(d.new_tensor(-1.0)),
                    softplus(1 - d, threshold=50) - torch.log1p(-torch.exp(-d)),
                )
            ),
        ),
        (
            "logistic_pair",
            pair(
                lambda s: softplus(
                    torch.where(same, -1, 1) * (logistic.gain.detach() * s + logistic.bias.detach()), threshold=50
                ),
                lambda x: (x @ x.T)[i, j],
            ),
        ),
        ("tuple_hinge", tuple_hinge),
        ("lifted_hard", lifted_hard),
    ):
        ours = losses.build(name)
        compare(f"{name} (plain torch)", lambda x, ours=ours: ours(x, labels), peer, x, 0.8)


def newest(x, labels):
    """Losses since 2019, against their code on Learn."""
    # Nothing is asked of those that take a few milliseconds, whose exact distances and safety cost a part of one.
    names = (
        "smooth_ap recall_at_k roadmap proxy_anchor decoupled_contrastive subcenter_arcface siglip ranked_list magface"
    )
    names += " adaface hyperbolic_contrastive sigreg graded_contrastive"
    for name in names.split():
        ours = losses.build(name, embedding_dim=x.shape[1], num_classes=int(labels.max()) + 1)

        def mine(x, ours=ours):
            return ours.to(x.dtype)(x, labels)

        def peer(x, name=name, ours=ours):
            weights = {key: value.detach() for key, value in ours.named_parameters()}
            return getattr(shown, name)(x, labels, **weights)

        compare(f"{name} (plain torch)", mine, peer, x, None, rounds=5)


def main():
    if "--large" in sys.argv:
        cubes(16, 16, rounds=1)
        return
    every_triplet()
    cubes(8, 16, rounds=3)
    x, labels = batch(16, 16)
    listed(x, labels)
    margin_over_everything(x, labels)
    peers(x, labels)
    plain(x, labels)
    newest(x, labels)


if __name__ == "__main__":
    main()
