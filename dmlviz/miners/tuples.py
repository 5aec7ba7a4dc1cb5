"""Selected pairs and triplets, as index tensors into a batch."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class Pairs(NamedTuple):
    """Positive pairs (a[i], p[i]) and negative pairs (b[j], n[j]); int64 indices into the batch.

    Pairs are undirected and listed once.
    """

    a: Int[Tensor, " positives"]
    p: Int[Tensor, " positives"]
    b: Int[Tensor, " negatives"]
    n: Int[Tensor, " negatives"]


class AnchoredPairs(Pairs):
    """Directed pairs, the anchor first: (a, p) may be selected without (p, a)."""

    __slots__ = ()


class Triplets(NamedTuple):
    """Triplets (a[i], p[i], n[i]): anchor, positive, negative; int64 indices into the batch."""

    a: Int[Tensor, " triplets"]
    p: Int[Tensor, " triplets"]
    n: Int[Tensor, " triplets"]


def as_pairs(triplets: Triplets) -> AnchoredPairs:
    """Convert each triplet to one positive and one negative pair of its anchor, for pair losses.

    Example:
        >>> i = torch.tensor([0])
        >>> as_pairs(Triplets(i, i + 1, i + 2)).n.tolist()
        [2]
    """
    return AnchoredPairs(triplets.a, triplets.p, triplets.a, triplets.n)


def pair_masks(pairs: Pairs, size: int) -> tuple[Bool[Tensor, "n n"], Bool[Tensor, "n n"]]:
    """Convert pairs to masks.

    Args:
        pairs: Selected pairs; an undirected pair counts for both of its images, an anchored one for its anchor only.
        size: Number of images in the batch, n.

    Returns:
        Two n × n masks: row i marks the selected positives, and the selected negatives, of image i.
    """
    masks = []
    for first, second in ((pairs.a, pairs.p), (pairs.b, pairs.n)):
        mask = torch.zeros(size, size, dtype=torch.bool, device=first.device)
        mask[first, second] = True
        masks.append(mask if isinstance(pairs, AnchoredPairs) else mask | mask.T)
    return masks[0], masks[1]
