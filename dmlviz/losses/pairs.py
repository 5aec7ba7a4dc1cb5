"""Losses on pairs: every pair of the batch, or those that a miner lists."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from dmlviz.errors import UserError
from dmlviz.losses.base import Loss
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import REGISTRY, register_loss
from dmlviz.losses.terms import LossParts, Numbers, Terms
from dmlviz.ops.fixed_path import is_transformed
from dmlviz.ops.pairwise import distance_matrix
from dmlviz.ops.reductions import masked_logsumexp, masked_mean, softplus

_ROWS = 64  # of a decision net: as many are computed at once


@register_loss("contrastive")
def contrastive(batch: LossBatch, *, margin: float, pos_margin: float, reduction: str) -> Terms:
    """P: [d − m⁺]₊², N: [m − d]₊² (Hadsell, Chopra, LeCun 2006, without their ½)."""
    d, same, counts = batch.pairs(batch.distances("euclidean"))
    values = torch.where(same, d - pos_margin, margin - d).relu().square()
    return Terms(values, counts, reduction, numbers=lambda: {"d": d, "m^+": pos_margin, "m": margin})


@register_loss("contrastive_linear")
def contrastive_linear(
    batch: LossBatch, *, margin: float, pos_margin: float, distance: str, reduction: str
) -> LossParts:
    """P: [d − m⁺]₊, N: [m − d]₊, each side averaged by itself (Musgrave, Belongie, Lim 2020, §2)."""
    d, same, counts = batch.pairs(batch.distances(distance))
    values = torch.where(same, d - pos_margin, margin - d).relu()
    return _each_side(values, same, counts, reduction, lambda: {"d": d, "m^+": pos_margin, "m": margin})


@register_loss("contrastive_double")
def contrastive_double_margin(batch: LossBatch, *, pos_margin: float, margin: float, reduction: str) -> Terms:
    """P: [d² − m₁]₊², N: [m₂ − d²]₊²: two margins on the squared distance."""
    squared, same, counts = batch.pairs(batch.distances("sqeuclidean"))
    values = torch.where(same, squared - pos_margin, margin - squared).relu().square()
    return Terms(values, counts, reduction, numbers=lambda: {"d^2": squared, "m_1": pos_margin, "m_2": margin})


@register_loss("contrastive_no_margin")
def contrastive_no_margin(batch: LossBatch) -> Terms:
    """P: d², N: −d²; has no minimum."""
    squared, same, counts = batch.pairs(batch.distances("sqeuclidean"))
    return Terms(torch.where(same, squared, -squared), counts, numbers=lambda: {"d^2": squared})


@register_loss("cosine_pair")
def cosine_pair(batch: LossBatch, *, reduction: str) -> Terms:
    """(y − s)² with y = 1 for one class, 0 for two."""
    s, same, counts = batch.pairs(batch.cosine())
    return Terms((same.to(s.dtype) - s).square(), counts, reduction, numbers=lambda: {"s": s})


@register_loss("distance_logistic")
def distance_logistic(batch: LossBatch, *, margin: float, reduction: str) -> Terms:
    """−log p for P, −log(1 − p) for N, p = (1 + e^{−m})/(1 + e^{d−m}) (Vo, Hays 2016).

    Two coincident images of different classes have p = 1; distances are held at 1e-6 there, a loss of about 14.
    """
    d, same, counts = batch.pairs(batch.distances("euclidean"))
    beyond = torch.where(same, d - margin, margin - d)
    rest = torch.where(same, softplus(d.new_tensor(-margin)), torch.log(-torch.expm1(-d.clamp_min(1e-6))))

    def numbers() -> Numbers:
        held = torch.where(same, d, d.clamp_min(1e-6))
        return {"d": held, "m": margin, "p": torch.exp(softplus(d.new_tensor(-margin)) - softplus(held - margin))}

    return Terms(softplus(beyond) - rest, counts, reduction, smooth=True, numbers=numbers)


@register_loss("snr_contrastive")
def snr_contrastive(
    batch: LossBatch, *, pos_margin: float, margin: float, regularizer: float, reduction: str
) -> LossParts:
    """P: [v − m⁺]₊, N: [m − v]₊ with v = Var(f_a − f_b)/Var(f_a), ordered pairs, each side averaged by itself.

    Plus `regularizer` times the mean over the images of |mean of the coordinates| (Yuan et al. 2019). An anchor with
    next to no variance, below 1e-12 of the largest, counts as having that much.
    """
    mean = batch.x.mean(dim=1, keepdim=True)
    noise = batch.x - mean
    size = noise.detach().abs().amax() if len(batch) else noise.new_tensor(1.0)
    noise = noise / torch.where(size < 1e-30, 1.0, size)  # v does not change, and its squares stay in range
    variance = noise.square().sum(dim=1).clamp_min(1e-12)
    v, same, counts = batch.pairs(distance_matrix(noise, "sqeuclidean") / variance[:, None], directed=True)
    penalty = regularizer * masked_mean(mean.abs(), (batch.positive | batch.negative).any().expand_as(mean))
    values = torch.where(same, v - pos_margin, margin - v).relu()
    numbers: Numbers = {"v": v, "m^+": pos_margin, "m": margin}
    return [*_each_side(values, same, counts, reduction, lambda: numbers), penalty]


@register_loss("multi_similarity")
def multi_similarity(batch: LossBatch, *, alpha: float, beta: float, base: float, reduction: str) -> Terms:
    """(1/α) log(1 + Σ_P e^{−α(s−λ)}) + (1/β) log(1 + Σ_N e^{β(s−λ)}) per anchor (Wang et al. 2019)."""
    s = batch.cosine() - base
    pull = softplus(masked_logsumexp(-alpha * s, batch.positive)) / alpha
    push = softplus(masked_logsumexp(beta * s, batch.negative)) / beta
    return Terms(
        pull + push,
        None,
        reduction,
        smooth=True,
        numbers=lambda: {
            r"\alpha": alpha,
            r"\beta": beta,
            r"\sum_p e^{-\alpha(s_{ap}-\lambda)}": torch.expm1(alpha * pull),
            r"\sum_n e^{\beta(s_{an}-\lambda)}": torch.expm1(beta * push),
            **batch.counts(),
        },
    )


@register_loss("circle")
def circle(batch: LossBatch, *, margin: float, gamma: float, reduction: str) -> Terms:
    """softplus(lse_N(γ[s+m]₊(s−m)) + lse_P(−γ[1+m−s]₊(s−1+m))), weights detached, per anchor with both.

    Sun et al. 2020.
    """
    s = batch.cosine()
    weight_n, weight_p = (s.detach() + margin).relu(), (1 + margin - s.detach()).relu()
    push = masked_logsumexp(gamma * weight_n * (s - margin), batch.negative)
    pull = masked_logsumexp(-gamma * weight_p * (s - 1 + margin), batch.positive)
    return Terms(
        softplus(push + pull),
        batch.has_both,
        reduction,
        smooth=True,
        numbers=lambda: {"L_n": push, "L_p": pull, **batch.counts()},
    )


@REGISTRY.register("margin")
class Margin(Loss):
    """P: [d − β + α]₊, N: [β + α − d]₊ with β learned, one or one per class of the anchor (Wu et al. 2017)."""

    def __init__(
        self, *, alpha: float, beta: float, per_class: bool, reduction: str, num_classes: int | None, **_: Any
    ) -> None:
        super().__init__()
        if per_class and num_classes is None:
            raise UserError("margin learns a β for each class; got no num_classes: pass it, or per_class=False.")
        self.alpha, self.per_class, self.reduction = alpha, per_class, reduction
        self.beta = nn.Parameter(torch.full((num_classes if per_class and num_classes else 1,), float(beta)))

    def terms(self, batch: LossBatch) -> Terms:
        """Return a term for each pair; in both directions where β belongs to the class of the anchor."""
        d, same, counts = batch.pairs(batch.distances("euclidean"), directed=self.per_class)
        own = self.beta.to(d.dtype)
        beta = batch.anchors(own[batch.class_indices(len(own))]) if self.per_class else own
        values = (torch.where(same, d - beta, beta - d) + self.alpha).relu()
        numbers: Numbers = {"d": d, r"\beta": beta, r"\alpha": self.alpha}
        return Terms(values, counts, self.reduction, numbers=lambda: numbers)


@REGISTRY.register("logistic_pair")
class LogisticPair(Loss):
    """log(1 + e^{−y o}), y = ±1, o = gain · f_a·f_b + bias, both learned (Bertinetto et al. 2016)."""

    def __init__(self, *, reduction: str, **_: Any) -> None:
        super().__init__()
        self.reduction = reduction
        # On the sphere this starts with even odds at 60°.
        self.gain = nn.Parameter(torch.tensor(10.0))
        self.bias = nn.Parameter(torch.tensor(-5.0))

    def terms(self, batch: LossBatch) -> Terms:
        """Return a term for each pair."""
        products = batch.x @ batch.candidates.T
        o, same, counts = batch.pairs(self.gain * products + self.bias)

        def numbers() -> Numbers:
            return {"g": self.gain, "b": self.bias, "o": o, r"f_i\cdot f_j": batch.pairs(products)[0]}

        return Terms(softplus(torch.where(same, -o, o)), counts, self.reduction, smooth=True, numbers=numbers)


@REGISTRY.register("siglip")
class SigLip(Loss):
    """log(1 + e^{−y o}), y = ±1, o = t · s + b, t = e^{t′} and b learned, from 10 and −10 on (Zhai et al. 2023).

    `logistic_pair` on cosines instead of inner products, with a scale that stays positive and a start from "all pairs
    differ". The paper sums over a row and divides by n; this is the mean of all pairs, which is n − 1 times smaller.
    """

    def __init__(self, *, reduction: str, **_: Any) -> None:
        super().__init__()
        self.reduction = reduction
        self.log_scale = nn.Parameter(torch.tensor(math.log(10.0)))
        self.bias = nn.Parameter(torch.tensor(-10.0))

    def terms(self, batch: LossBatch) -> Terms:
        """Return a term for each pair."""
        s, same, counts = batch.pairs(batch.cosine())
        scale, bias = self.log_scale.to(s.dtype).exp(), self.bias.to(s.dtype)
        o = scale * s + bias

        def numbers() -> Numbers:
            return {"t": scale, "s": s, "b": bias, "o": o}

        return Terms(softplus(torch.where(same, -o, o)), counts, self.reduction, smooth=True, numbers=numbers)


@REGISTRY.register("hinge_pair")
class HingePair(Loss):
    """[1 − y o]₊, y = ±1, o the score of a small decision net on an ordered pair (Zagoruyko, Komodakis 2015).

    The net is v · ReLU(A f_a + B f_b + b) + c: two layers on both embeddings side by side. It begins as 1 minus a
    distance (B = −A, v < 0), so that what it teaches the embedding can be seen in distances, too.
    """

    def __init__(self, *, hidden: int, reduction: str, embedding_dim: int | None, seed: int, **_: Any) -> None:
        super().__init__()
        if embedding_dim is None:
            raise UserError("hinge_pair owns a decision net; got no embedding_dim: pass embedding_dim to build.")
        self.reduction = reduction
        generator = torch.Generator().manual_seed(seed)
        first = torch.randn(embedding_dim, hidden, generator=generator)
        self.first, self.second = nn.Parameter(first), nn.Parameter(-first)
        self.score = nn.Parameter(-torch.randn(hidden, generator=generator).abs() / hidden**0.5)
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.bias = nn.Parameter(torch.ones(()))

    def terms(self, batch: LossBatch) -> Terms:
        """Return a term for each pair, in both directions."""
        kind = batch.x.dtype
        first = batch.x @ self.first.to(kind) + self.hidden_bias.to(kind)
        second, score = batch.candidates @ self.second.to(kind), self.score.to(kind)
        function = _Decisions.forward if is_transformed(first, second, score) else _Decisions.apply
        scores = function(first, second, score) + self.bias.to(kind)
        o, same, counts = batch.pairs(scores, directed=True)
        return Terms((1 - torch.where(same, o, -o)).relu(), counts, self.reduction, numbers=lambda: {"o": o})


class _Decisions(torch.autograd.Function):
    """v · ReLU(first_i + second_j) for all i, j.

    Hidden units are computed anew for backward, some rows at a time, so that n² numbers are kept and not n² h.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(first: Tensor, second: Tensor, score: Tensor) -> Tensor:
        return torch.cat([(block[:, None] + second).relu_() @ score for block in first.split(_ROWS)])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        first, second, score = ctx.saved_tensors
        to_first, to_second, to_score = [], torch.zeros_like(second), torch.zeros_like(score)
        for block, pull in zip(first.split(_ROWS), gradient.split(_ROWS), strict=True):
            hidden = (block[:, None] + second).relu_()
            to_score += pull.flatten() @ hidden.flatten(0, 1)
            to_hidden = (hidden > 0) * pull[:, :, None]
            to_first.append(to_hidden.sum(dim=1) * score)
            to_second += to_hidden.sum(dim=0) * score
        return torch.cat(to_first), to_second, to_score


def _each_side(
    values: Tensor, same: Tensor, counts: Tensor | None, reduction: str, numbers: Callable[[], Numbers]
) -> list[Terms]:
    """Return the terms of pairs of one class, and terms of all other pairs: each side is reduced by itself."""
    sides = (same, ~same) if counts is None else (counts & same, counts & ~same)
    return [Terms(values, side, reduction, numbers=numbers) for side in sides]
