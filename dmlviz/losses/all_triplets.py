"""Sums over all triplets of a batch, exactly, in O(n²) memory: n³ terms are counted, never listed.

Hinges are summed in O(n² log n) by sorting; the smooth form visits each triplet once.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dmlviz.losses.batch import LossBatch
from dmlviz.losses.terms import SummedTerms
from dmlviz.ops.pairwise import differentiable_gradients
from dmlviz.ops.reductions import softplus
from dmlviz.ops.sorted_negatives import PairTable, pair_table, sort_negatives

# log(1 + e^x) is above 0.01, Terms' threshold for a smooth term, from this x on.
_SOFTPLUS_ACTIVE = -4.6002


def hinge_sum(
    batch: LossBatch,
    bounds: Float[Tensor, "n n"],
    distances: Float[Tensor, "n n"],
    reduction: str,
    weights: Float[Tensor, "n n"] | None = None,
) -> SummedTerms:
    """Sum w_ap · [b_ap − d_an]₊ over all triplets, b and w given for every positive pair (w = 1 where left out).

    Of anchor a's negatives in order of distance, the first k_ap are nearer than b_ap. So the sum is
    Σ_ap w_ap·b_ap·k_ap − Σ_an d_an·(Σ of w_ap over the pairs that reach n), a product of n × n matrices and gradients.
    """
    pairs, ranking = pair_table(batch.positive), sort_negatives(distances, batch.negative)
    bound = bounds[pairs.a, pairs.p]
    reached = ranking.count_closer(pairs.table(bound.detach(), 0.0))
    weight = torch.ones_like(bound) if weights is None else weights[pairs.a, pairs.p]
    k = pairs.flat(reached)

    n = len(batch)
    stops = weight.new_zeros(n, n + 1).index_put((pairs.a, k), weight, accumulate=True)
    reaching = stops[:, 1:].flip(1).cumsum(1).flip(1)  # column r: weight of the pairs with k > r
    pull = torch.zeros_like(distances).scatter(1, ranking.index, reaching)
    total = _sum_float64(weight * bound * k) - _sum_float64(pull * distances)
    return SummedTerms(total.to(distances.dtype), ranking.count[pairs.a].sum(), k.sum(), reduction)


def softplus_sum(batch: LossBatch, distances: Float[Tensor, "n n"], reduction: str) -> SummedTerms:
    """Sum log(1 + e^{d_ap − d_an}) over all triplets."""
    pairs, ranking = pair_table(batch.positive), sort_negatives(distances, batch.negative)
    nearer = ranking.count_closer(pairs.table(distances.detach()[pairs.a, pairs.p], 0.0) - _SOFTPLUS_ACTIVE)
    total = _SoftTriplets.apply(distances, batch.negative, pairs)
    terms = ranking.count[pairs.a].sum()
    nonzero = _above_zero(distances.detach(), batch.negative, pairs) if reduction == "nonzero" else terms
    return SummedTerms(total, terms, pairs.flat(nearer).sum(), reduction, nonzero)


def _sum_float64(values: Tensor) -> Tensor:
    return values.sum(dtype=torch.float64) if values.device.type != "mps" else values.sum()


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

    @staticmethod
    def forward(ctx: Any, distances: Tensor, negative: Tensor, pairs: PairTable) -> Tensor:
        pull, push = distances.new_zeros(pairs.anchors, pairs.width), torch.zeros_like(distances)
        total = distances.new_zeros(())
        for slot, difference in enumerate(_differences(distances, negative, pairs)):
            total += softplus(difference).sum()
            share = difference.sigmoid_()
            pull[:, slot] = share.sum(1)
            push -= share
        push[pairs.a, pairs.p] += pairs.flat(pull)
        ctx.save_for_backward(distances, negative, push)
        ctx.pairs = pairs
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        distances, negative, push = ctx.saved_tensors
        if torch.is_grad_enabled():

            def plain(distances: Tensor) -> Tensor:
                sums = [softplus(difference).sum() for difference in _differences(distances, negative, ctx.pairs)]
                return torch.stack([*sums, distances.new_zeros(())]).sum()

            return differentiable_gradients(plain, (distances,), gradient)[0], None, None
        return gradient * push, None, None
