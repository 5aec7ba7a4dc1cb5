"""Sums over all triplets of a batch, exactly, in O(n²) memory: n³ terms are counted, never listed.

Hinges are summed in O(n² log n) by sorting; the smooth form visits each triplet once.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from dmlviz.losses.batch import LossBatch
from dmlviz.losses.terms import SummedTerms
from dmlviz.ops.fixed_path import is_transformed
from dmlviz.ops.pairwise import differentiable_gradients
from dmlviz.ops.reductions import softplus
from dmlviz.ops.sorted_negatives import PairTable, pair_table, sort_negatives

# log(1 + e^x) is above 0.01, Terms' threshold for a smooth term, from this x on.
_SOFTPLUS_ACTIVE = -4.6002
LISTED = 1 << 20  # terms in memory at once; where there are more, all are computed again on the way back


def hinge_sum(
    batch: LossBatch,
    bounds: Float[Tensor, "n columns"],
    distances: Float[Tensor, "n columns"],
    reduction: str,
    weights: Float[Tensor, "n columns"] | None = None,
) -> SummedTerms:
    """Sum w_ap · [b_ap − d_an]₊ over all triplets, b and w given for every positive pair (w = 1 where left out).

    Of anchor a's negatives in order of distance, the first k_ap are nearer than b_ap. So the sum is
    Σ_ap w_ap·b_ap·k_ap − Σ_an d_an·(Σ of w_ap over the pairs that reach n), a product of n × n matrices and gradients.
    """
    if is_transformed(batch.positive):
        scale = torch.ones_like(bounds) if weights is None else weights
        return _one_positive_at_a_time(
            batch, lambda p: scale[:, p, None] * (bounds[:, p, None] - distances).relu(), reduction
        )
    pairs, ranking = pair_table(batch.positive), sort_negatives(distances, batch.negative)
    bound = bounds[pairs.a, pairs.p]
    reached = ranking.count_closer(pairs.table(bound.detach(), 0.0))
    weight = torch.ones_like(bound) if weights is None else weights[pairs.a, pairs.p]
    k = pairs.flat(reached)

    n = len(batch)
    stops = weight.new_zeros(n, distances.shape[1] + 1).index_put((pairs.a, k), weight, accumulate=True)
    reaching = stops[:, 1:].flip(1).cumsum(1).flip(1)  # column r: weight of the pairs with k > r
    pull = torch.zeros_like(distances).scatter(1, ranking.index, reaching)
    total = _sum_float64(weight * bound * k) - _sum_float64(pull * distances)
    return SummedTerms(total.to(distances.dtype), ranking.count[pairs.a].sum(), k.sum(), reduction)


def softplus_sum(batch: LossBatch, distances: Float[Tensor, "n columns"], reduction: str) -> SummedTerms:
    """Sum log(1 + e^{d_ap − d_an}) over all triplets."""
    if is_transformed(batch.positive):
        return _one_positive_at_a_time(batch, lambda p: softplus(distances[:, p, None] - distances), reduction)
    pairs, ranking = pair_table(batch.positive), sort_negatives(distances, batch.negative)
    nearer = ranking.count_closer(pairs.table(distances.detach()[pairs.a, pairs.p], 0.0) - _SOFTPLUS_ACTIVE)
    function = _SoftTriplets.plain if is_transformed(distances) else _SoftTriplets.apply
    total, _ = function(distances, batch.negative, pairs)
    terms = ranking.count[pairs.a].sum()
    nonzero = _above_zero(distances.detach(), batch.negative, pairs) if reduction == "nonzero" else terms
    return SummedTerms(total, terms, pairs.flat(nearer).sum(), reduction, nonzero)


def sum_of_sides(
    batch: LossBatch, near: Float[Tensor, "n n"], far: Float[Tensor, "n n"], reduction: str
) -> SummedTerms:
    """Sum near_ap + far_an over all triplets: each pair counts as often as its anchor has others of the other kind."""
    sides = []
    for values, mask in ((near, batch.positive), (far, batch.negative)):
        kept = torch.where(mask, values, 0.0)
        sides.append((_sum_float64(kept, 1), mask.sum(1), (kept != 0).sum(1)))
    (pull, positives, pulled), (push, negatives, pushed) = sides
    total = (pull * negatives + push * positives).sum()
    active = positives * negatives - (positives - pulled) * (negatives - pushed)
    return SummedTerms(total.to(near.dtype), (positives * negatives).sum(), active.sum(), reduction)


def sum_of_terms(batch: LossBatch, terms: Callable[[Tensor, Tensor], Tensor], reduction: str) -> SummedTerms:
    """Sum any function of a triplet over all of them, O(n³) terms of which at most `LISTED` are in memory at once.

    Args:
        batch: The batch.
        terms: Returns the terms of p anchors with their positives (two vectors of indices) and all images as negatives
            (p × n).
        reduction: As of every loss.
    """
    if is_transformed(batch.positive):
        every = torch.arange(len(batch), device=batch.positive.device)
        return _one_positive_at_a_time(batch, lambda p: terms(every, every[p].expand(len(batch))), reduction)
    anchors, positives = batch.positive.nonzero(as_tuple=True)

    def part(a: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        values = torch.where(batch.negative[a], terms(a, p), 0.0)
        return _sum_float64(values), (values != 0).sum()

    parts = list(zip(*(side.split(max(LISTED // max(len(batch), 1), 1)) for side in (anchors, positives)), strict=True))
    sums = [part(a, p) if len(parts) == 1 else checkpoint(part, a, p, use_reentrant=False) for a, p in parts]
    total, active = (torch.stack(each).sum() for each in zip(*sums, strict=True))
    count = batch.negative.sum(dim=1)[anchors].sum()
    return SummedTerms(total.to(batch.x.dtype), count, active, reduction)


def _one_positive_at_a_time(batch: LossBatch, terms: Callable[[int], Tensor], reduction: str) -> SummedTerms:
    """Sum in O(n³) the terms of each image as a positive (n × n): where vmap maps over labels, none can be listed."""
    total, count, active = [], [], []
    for p in range(len(batch)):
        mask = batch.positive[:, p, None] & batch.negative
        values = torch.where(mask, terms(p), 0.0)
        total.append(values.sum())
        count.append(mask.sum())
        active.append((values != 0).sum())
    sums = [torch.stack(each).sum() for each in (total, count, active)]
    return SummedTerms(sums[0], sums[1], sums[2], reduction)


def _sum_float64(values: Tensor, dim: int | None = None) -> Tensor:
    return values.sum(dim, dtype=torch.float64) if values.device.type != "mps" else values.sum(dim)


def _differences(distances: Tensor, negative: Tensor, pairs: PairTable) -> Iterator[Tensor]:
    """d_ap − d_an for one positive of every anchor at a time; −∞ where there is no such triplet."""
    far = distances.masked_fill(~negative, torch.inf)
    near = pairs.table(distances[pairs.a, pairs.p], -torch.inf)
    return (near[:, slot, None] - far for slot in range(pairs.width))


def _above_zero(distances: Tensor, negative: Tensor, pairs: PairTable) -> Tensor:
    """Count the terms that are not 0: all, unless distances differ by a hundred."""
    counts = [(softplus(difference) > 0).sum() for difference in _differences(distances, negative, pairs)]
    return torch.stack(counts).sum() if counts else negative.new_zeros((), dtype=torch.int64)


class _SoftTriplets(torch.autograd.Function):
    """Finds the gradient on the way forward, one positive of every anchor at a time, and keeps only that."""

    generate_vmap_rule = True

    @staticmethod
    def forward(distances: Tensor, negative: Tensor, pairs: PairTable) -> tuple[Tensor, tuple[Tensor]]:
        pull, push = distances.new_zeros(pairs.anchors, pairs.width), torch.zeros_like(distances)
        total = distances.new_zeros(())
        for slot, difference in enumerate(_differences(distances, negative, pairs)):
            total += softplus(difference).sum()
            share = difference.sigmoid_()
            pull[:, slot] = share.sum(1)
            push -= share
        push[pairs.a, pairs.p] += pairs.flat(pull)
        return total, (push,)

    @staticmethod
    def plain(distances: Tensor, negative: Tensor, pairs: PairTable) -> tuple[Tensor, tuple[()]]:
        sums = [softplus(difference).sum() for difference in _differences(distances, negative, pairs)]
        return torch.stack([*sums, distances.new_zeros(())]).sum(), ()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, PairTable], output: tuple[Tensor, tuple[Tensor]]) -> None:
        ctx.save_for_backward(*inputs[:2], *output[1])
        ctx.pairs = inputs[2]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: None) -> tuple[Tensor, None, None]:
        distances, negative, push = ctx.saved_tensors
        if torch.is_grad_enabled():

            def total(distances: Tensor) -> Tensor:
                return _SoftTriplets.plain(distances, negative, ctx.pairs)[0]

            return differentiable_gradients(total, (distances,), gradient)[0], None, None
        return gradient * push, None, None
