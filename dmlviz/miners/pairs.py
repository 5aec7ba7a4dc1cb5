"""Miners that select pairs."""

import torch
from jaxtyping import Bool
from torch import Tensor

from dmlviz.miners.base import MinerBatch, implements
from dmlviz.miners.tuples import AnchoredPairs, Pairs, fixed_pairs
from dmlviz.ops.fixed_path import on_fixed_path


def _upper_triangle(mask: Bool[Tensor, "n columns"]) -> tuple[Tensor, Tensor]:
    first, second = mask.triu(1).nonzero(as_tuple=True)
    return first, second


@implements("all_pairs")
def all_pairs(batch: MinerBatch) -> Pairs:
    """Select every pair once."""
    return Pairs(*_upper_triangle(batch.positive), *_upper_triangle(batch.negative))


@implements("balanced_pairs")
def balanced_pairs(batch: MinerBatch) -> Pairs:
    """Select every positive pair, and as many random negative pairs, without repetition."""
    a, p = _upper_triangle(batch.positive)
    b, n = _upper_triangle(batch.negative)
    sample = torch.randperm(len(b), generator=batch.generator, device="cpu")[: len(a)].to(b.device)
    return Pairs(a, p, b[sample], n[sample])


@implements("hard_negative_pairs")
def hard_negative_pairs(batch: MinerBatch, *, distance: str) -> Pairs:
    """Select every positive pair, and as many closest negative pairs."""
    a, p = _upper_triangle(batch.positive)
    b, n = _upper_triangle(batch.negative)
    distances = batch.distances(distance)[b, n]
    closest = distances.topk(min(len(a), len(b)), largest=False, sorted=False).indices
    return Pairs(a, p, b[closest], n[closest])


@implements("multi_similarity")
def multi_similarity(batch: MinerBatch, *, epsilon: float) -> AnchoredPairs:
    """Select positives less similar than the nearest negative, and negatives more similar than the farthest positive.

    `epsilon` widens both conditions. An anchor without a negative gets no positive, and one without a positive no
    negative.

    Reference:
        Wang et al. 2019, section 3.3.
    """
    cosines = batch.cosine()
    if not len(cosines):
        return AnchoredPairs(*batch.positive_pairs, *batch.positive_pairs)
    nearest_negative = cosines.masked_fill(~batch.negative, -torch.inf).amax(1, keepdim=True)
    farthest_positive = cosines.masked_fill(~batch.positive, torch.inf).amin(1, keepdim=True)
    if on_fixed_path():
        (a, p), (b, n) = batch.positive_pairs, batch.negative.nonzero(as_tuple=True)
        near, far = cosines < nearest_negative + epsilon, cosines > farthest_positive - epsilon
        return fixed_pairs(a, p, b, n, torch.cat([near[a, p], far[b, n]]))
    a, p = (batch.positive & (cosines < nearest_negative + epsilon)).nonzero(as_tuple=True)
    b, n = (batch.negative & (cosines > farthest_positive - epsilon)).nonzero(as_tuple=True)
    return AnchoredPairs(a, p, b, n)
