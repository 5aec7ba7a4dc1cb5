"""Sums over all triplets of a batch, exactly, in O(n²) memory: n³ terms are counted, never listed.

Hinges are summed in O(n² log n) by sorting; the smooth form visits each triplet once.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dmlviz.losses.module import Batch, Totals
from dmlviz.ranking import Slots, rank, slots

# log(1 + e^x) is above 0.01, Terms' threshold for a smooth term, from this x on.
_ACTIVE_FROM = -4.6002


def hinges(
    batch: Batch,
    bounds: Float[Tensor, "n n"],
    distances: Float[Tensor, "n n"],
    reduction: str,
    weights: Float[Tensor, "n n"] | None = None,
) -> Totals:
    """Sum w_ap · [b_ap − d_an]₊ over all triplets, b and w given for every positive pair (w = 1 where left out).

    Of anchor a's negatives in order of distance, the first k_ap are nearer than b_ap. So the sum is
    Σ_ap w_ap·b_ap·k_ap − Σ_an d_an·(Σ of w_ap over the pairs that reach n), a product of n × n matrices and gradients.
    """
    pairs, ranking = slots(batch.positive), rank(distances, batch.negative)
    bound = bounds[pairs.a, pairs.p]
    reached = ranking.closer_than(pairs.table(bound.detach(), 0.0))
    weight = torch.ones_like(bound) if weights is None else weights[pairs.a, pairs.p]
    k = pairs.flat(reached)

    n = len(batch)
    stops = weight.new_zeros(n, n + 1).index_put((pairs.a, k), weight, accumulate=True)
    reaching = stops[:, 1:].flip(1).cumsum(1).flip(1)  # column r: weight of the pairs with k > r
    pull = torch.zeros_like(distances).scatter(1, ranking.index, reaching)
    total = _wide_sum(weight * bound * k) - _wide_sum(pull * distances)
    return Totals(total.to(distances.dtype), ranking.count[pairs.a].sum(), k.sum(), reduction)


def soft(batch: Batch, distances: Float[Tensor, "n n"], reduction: str) -> Totals:
    """Sum log(1 + e^{d_ap − d_an}) over all triplets."""
    pairs, ranking = slots(batch.positive), rank(distances, batch.negative)
    nearer = ranking.closer_than(pairs.table(distances.detach()[pairs.a, pairs.p], 0.0) - _ACTIVE_FROM)
    total = _SoftTriplets.apply(distances, batch.negative, pairs)
    return Totals(total, ranking.count[pairs.a].sum(), pairs.flat(nearer).sum(), reduction)


def _wide_sum(values: Tensor) -> Tensor:
    return values.sum(dtype=torch.float64) if values.device.type != "mps" else values.sum()


class _SoftTriplets(torch.autograd.Function):
    """Finds the gradient on the way forward, one positive of every anchor at a time, and keeps only that."""

    @staticmethod
    def forward(ctx: Any, distances: Tensor, negative: Tensor, pairs: Slots) -> Tensor:
        far = distances.masked_fill(~negative, torch.inf)
        near = pairs.table(distances[pairs.a, pairs.p], -torch.inf)
        pull, push = torch.zeros_like(near), torch.zeros_like(far)
        total = distances.new_zeros(())
        for slot in range(pairs.width):
            difference = near[:, slot, None] - far
            total += torch.nn.functional.softplus(difference, threshold=40).sum()
            share = difference.sigmoid_()
            pull[:, slot] = share.sum(1)
            push -= share
        push[pairs.a, pairs.p] += pairs.flat(pull)
        ctx.save_for_backward(push)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (push,) = ctx.saved_tensors
        return gradient * push, None, None
