"""Losses on the ranking of a batch: each anchor's positives by how many images come before them.

A step function, which counts an image or not, becomes a smooth one. Each positive is compared with all images: n³
numbers, of which no more than n² are kept.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import register_loss
from dmlviz.losses.terms import Numbers, Terms
from dmlviz.ops.fixed_path import is_transformed
from dmlviz.ops.pairwise import differentiable_gradients, distance_matrix, l2_normalize
from dmlviz.ops.reductions import masked_mean, most_negative
from dmlviz.ops.sorted_negatives import pair_table

# Of one positive of each anchor: what the loss makes of the similarities of the negatives (n × n), and of the other
# positives (n × width), less that of the positive; −∞ where there is none (n).
Measure = Callable[[Tensor, Tensor], Tensor]


@register_loss("smooth_ap")
def smooth_ap(batch: LossBatch, *, temperature: float, count_anchor: bool, reduction: str) -> Terms:
    """1 − average precision for each anchor with a positive, ranks counted by sigmoids (Brown et al. 2020, eq. 6).

    Precision at a positive p is its rank among the positives over its rank among all, 1 + Σ_j σ((s_aj − s_ap)/τ). The
    authors' code counts the anchor as one of its positives; so does `count_anchor`.
    """

    def precision(past: Tensor, own: Tensor) -> Tensor:
        rank = 1 + own.sigmoid().sum(dim=1)
        return rank / (rank + past.sigmoid().sum(dim=1))

    positive = batch.positive | ~batch.off_diagonal if count_anchor else batch.positive
    total = _sum_over_positives(batch.cosine() / temperature, positive, batch.negative, precision)
    count = positive.sum(dim=1).clamp_min(1)

    def numbers() -> Numbers:
        return {"|P|": count, r"\sum_p R_p^+/R_p": total}

    return Terms(1 - total / count, batch.positive.any(dim=1), reduction, smooth=True, numbers=numbers)


@register_loss("recall_at_k")
def recall_at_k(batch: LossBatch, *, k_max: int, temperature: float, k_temperature: float, reduction: str) -> Terms:
    """1 − mean over k = 1, 2, 4 … of recall@k for each anchor with a positive (Patel et al. 2022, their eq. 8).

    A positive counts σ((k − r)/τ₁), its rank r = 1 + Σ_j σ((s_aj − s_ap)/τ₂), and the sum is over min(k, |P|). The
    authors' code also cuts a sum above k, and its τ₁ is k. SiMix, their mixture of similarities, is left out: it draws
    images that are in no batch, which nothing here could show.
    """
    steps = [1 << i for i in range(k_max.bit_length())]
    count = batch.positive.sum(dim=1).clamp_min(1)
    s = batch.cosine() / temperature
    most = torch.stack([count.clamp_max(k) for k in steps], dim=1).to(s.dtype)
    ks = torch.tensor(steps, dtype=s.dtype, device=s.device)

    def recalled(past: Tensor, own: Tensor) -> Tensor:
        rank = 1 + own.sigmoid().sum(dim=1) + past.sigmoid().sum(dim=1)
        return (((ks - rank[:, None]) / k_temperature).sigmoid() / most).mean(dim=1)

    total = _sum_over_positives(s, batch.positive, batch.negative, recalled)
    values = 1 - total
    return Terms(
        values,
        batch.positive.any(dim=1),
        reduction,
        smooth=True,
        numbers=lambda: {r"\overline{R@k}": total, "positives": count},
    )


@register_loss("roadmap")
def roadmap(
    batch: LossBatch,
    *,
    temperature: float,
    slope: float,
    delta: float,
    near: float,
    far: float,
    balance: float,
    reduction: str,
) -> Terms:
    """(1 − λ)(1 − AP) + λ(mean [α − s_ap]₊ + mean [s_an − β]₊) for each anchor with a positive (Ramzi et al. 2021).

    AP is SupAP: positives before a positive are counted exactly, by a step without a gradient, and negatives by a bound
    from above (their eq. 6): σ(t/τ) for t ≤ 0, then ½ more, and from δ on a line of slope ρ, whose pull does not fade.
    The authors' code counts the anchor as one of its positives, which is left out here.
    """
    s, bend = batch.cosine(), delta / temperature

    def precision(past: Tensor, own: Tensor) -> Tensor:
        rank = 1 + (own >= 0).to(s.dtype).sum(dim=1)
        curve = past.clamp_max(bend).sigmoid().sum(dim=1) + 0.5 * (past > 0).to(s.dtype).sum(dim=1)
        return rank / (rank + curve + slope * temperature * (past - bend).relu().sum(dim=1))

    count = batch.positive.sum(dim=1).clamp_min(1)
    total = _sum_over_positives(s / temperature, batch.positive, batch.negative, precision)
    short, beyond = masked_mean((near - s).relu(), batch.positive, 1), masked_mean((s - far).relu(), batch.negative, 1)

    def numbers() -> Numbers:
        return {
            "|P|": count,
            r"\sum_p R_p^+/R_p": total,
            r"\lambda": balance,
            r"\overline{[\alpha-s_{ap}]_+}": short,
            r"\overline{[s_{an}-\beta]_+}": beyond,
        }

    values = (1 - balance) * (1 - total / count) + balance * (short + beyond)
    return Terms(values, batch.positive.any(dim=1), reduction, smooth=True, numbers=numbers)


@register_loss("ranked_list")
def ranked_list(
    batch: LossBatch,
    *,
    alpha: float,
    margin: float,
    positive_temperature: float,
    negative_temperature: float,
    balance: float,
    reduction: str,
) -> Terms:
    """(1 − λ) L_P + λ L_N for each anchor, on the unit sphere (Wang et al. 2019, their eq. 8).

    L_P is a mean of d − (α − m) over the positives beyond α − m, L_N one of α − d over the negatives within α, by
    weights e^{T·…} of the same differences. These have a gradient, as in pytorch-metric-learning; the paper holds them.
    """
    memory = None if batch.memory is None else l2_normalize(batch.memory)
    d = distance_matrix(l2_normalize(batch.embeddings), memory=memory)

    def mean(beyond: Tensor, side: Tensor, temperature: float) -> Tensor:
        wrong = side & (beyond > 0)
        share = torch.where(wrong, temperature * beyond, most_negative(beyond)).softmax(dim=1)
        return (share * torch.where(wrong, beyond, 0.0)).sum(dim=1)

    pull = mean(d - (alpha - margin), batch.positive, positive_temperature)
    push = mean(alpha - d, batch.negative, negative_temperature)

    def numbers() -> Numbers:
        return {
            r"\lambda": balance,
            "L_P": pull,
            "L_N": push,
            "positives": (batch.positive & (d > alpha - margin)).sum(dim=1),
            "negatives": (batch.negative & (d < alpha)).sum(dim=1),
        }

    some = (batch.positive | batch.negative).any(dim=1)
    return Terms((1 - balance) * pull + balance * push, some, reduction, numbers=numbers)


def _sum_over_positives(s: Tensor, positive: Tensor, negative: Tensor, measure: Measure) -> Tensor:
    """Return the sum of `measure` over the positives of each anchor (n)."""
    if not len(s):
        return s.sum(dim=1)
    if is_transformed(positive, negative):  # vmap maps over labels, so that no pair can be listed: any image is tried
        return _Sum.plain(s, lambda s: torch.where(positive, s, -torch.inf), negative, measure)
    pairs = pair_table(positive)
    fill = s.new_full((pairs.anchors, pairs.width), -torch.inf)

    def positives(s: Tensor) -> Tensor:
        return fill.index_put((pairs.a, pairs.slot), s[pairs.a, pairs.p])

    one_pass = torch.is_grad_enabled() and not is_transformed(s)
    total: Tensor = (_Sum.apply if one_pass else _Sum.plain)(s, positives, negative, measure)
    return total


class _Sum(torch.autograd.Function):
    """Finds the gradient on the way forward, one positive of every anchor at a time, and keeps only that."""

    @staticmethod
    def plain(s: Tensor, positives: Callable[[Tensor], Tensor], negative: Tensor, measure: Measure) -> Tensor:
        far, near, total = s.masked_fill(~negative, -torch.inf), positives(s), s.new_zeros(len(s))
        for slot in range(near.shape[1]):
            past, own, some = _Sum.compared(far, near, slot)
            total = total + torch.where(some, measure(past, own), 0.0)
        return total

    @staticmethod
    def compared(far: Tensor, near: Tensor, slot: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return what `measure` takes of this positive, and which anchors have it."""
        some = near[:, slot] > -torch.inf
        place = torch.where(some, near[:, slot], torch.inf)[:, None]
        itself = torch.arange(near.shape[1], device=near.device) == slot
        return far - place, (near - place).masked_fill(itself, -torch.inf), some

    @staticmethod
    def forward(
        ctx: Any, s: Tensor, positives: Callable[[Tensor], Tensor], negative: Tensor, measure: Measure
    ) -> Tensor:
        far, total, pull = s.masked_fill(~negative, -torch.inf), s.new_zeros(len(s)), torch.zeros_like(s)
        with torch.enable_grad():
            leaf = s.detach().requires_grad_()
            table = positives(leaf)
        near, of_near = table.detach(), torch.zeros_like(table)
        for slot in range(near.shape[1]):
            past, own, some = _Sum.compared(far, near, slot)
            with torch.enable_grad():
                leaves = past.requires_grad_(), own.requires_grad_()
                value = torch.where(some, measure(*leaves), 0.0)
                to_past, to_own = torch.autograd.grad(value.sum(), leaves, allow_unused=True)
            total += value.detach()
            pull += to_past
            of_near[:, slot] -= to_past.sum(dim=1)
            if to_own is not None:
                of_near += to_own
                of_near[:, slot] -= to_own.sum(dim=1)
            del past, own, leaves, value, to_past, to_own  # before the next positive takes as much
        ctx.save_for_backward(s, negative, pull + torch.autograd.grad(table, leaf, of_near)[0])
        ctx.positives, ctx.measure = positives, measure
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        s, negative, pull = ctx.saved_tensors
        if torch.is_grad_enabled():

            def total(s: Tensor) -> Tensor:
                return _Sum.plain(s, ctx.positives, negative, ctx.measure)

            return *differentiable_gradients(total, (s,), gradient), None, None, None
        return gradient[:, None] * pull, None, None, None
