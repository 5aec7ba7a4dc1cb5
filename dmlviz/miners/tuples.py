"""What a miner selects: index tensors into a batch."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class Pairs(NamedTuple):
    """Positive pairs (a[i], p[i]) and negative pairs (b[j], n[j]); int64 indices into the batch.

    A pair has no direction and is listed once.
    """

    a: Int[Tensor, " positives"]
    p: Int[Tensor, " positives"]
    b: Int[Tensor, " negatives"]
    n: Int[Tensor, " negatives"]


class AnchoredPairs(Pairs):
    """Pairs whose first image is the anchor: (a, p) may be selected where (p, a) is not."""

    __slots__ = ()


class Triplets(NamedTuple):
    """Triplets (a[i], p[i], n[i]): anchor, positive, negative; int64 indices into the batch."""

    a: Int[Tensor, " triplets"]
    p: Int[Tensor, " triplets"]
    n: Int[Tensor, " triplets"]


def as_pairs(triplets: Triplets) -> AnchoredPairs:
    """Each triplet as one positive and one negative pair of its anchor, for a loss on pairs."""
    return AnchoredPairs(triplets.a, triplets.p, triplets.a, triplets.n)


def pair_masks(pairs: Pairs, size: int) -> tuple[Bool[Tensor, "n n"], Bool[Tensor, "n n"]]:
    """Row i of the two masks holds the selected positives and negatives of image i, out of `size` images.

    A pair without direction counts for both of its images, an anchored one for its anchor only.
    """
    masks = []
    for first, second in ((pairs.a, pairs.p), (pairs.b, pairs.n)):
        mask = torch.zeros(size, size, dtype=torch.bool, device=first.device)
        mask[first, second] = True
        masks.append(mask if isinstance(pairs, AnchoredPairs) else mask | mask.T)
    return masks[0], masks[1]
