"""Selected pairs and triplets, as index tensors into a batch."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.ops.fixed_path import is_transformed


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


class FixedPairs(AnchoredPairs):
    """As many directed pairs for all values, as a program needs it: only those that `kept` marks are selected.

    It holds a mask of the positive pairs, followed by that of the negative ones.
    """

    kept: Bool[Tensor, " pairs"]


class FixedTriplets(Triplets):
    """As many triplets for all values, as a program needs it: only those that `kept` marks are selected."""

    kept: Bool[Tensor, " triplets"]


def check_tuples(tuples: Any, size: int) -> None:
    """Raise UserError for pairs or triplets that are no indices into a batch of `size` images."""
    if not isinstance(tuples, Pairs | Triplets):
        return
    kind = type(tuples).__name__
    for index in tuples:
        if not isinstance(index, Tensor) or index.dtype not in (torch.int64, torch.int32) or index.ndim != 1:
            got = f"{index.dtype} {tuple(index.shape)}" if isinstance(index, Tensor) else type(index).__name__
            raise UserError(
                f"{kind} hold whole numbers in tensors of one dimension; got {got}: pass what a miner returns."
            )
    sides = (tuples[:2], tuples[2:]) if isinstance(tuples, Pairs) else (tuples,)
    if any(len({len(index) for index in side}) > 1 for side in sides):
        lengths = ", ".join(str(len(index)) for index in tuples)
        raise UserError(f"{kind} go together one by one; got {lengths} indices: pass what a miner returns.")
    indices = torch.cat(list(tuples))
    if len(indices) and not is_transformed(indices):
        low, high = (int(each) for each in indices.aminmax())
        if not 0 <= low <= high < size:
            raise UserError(
                f"{kind} hold indices into their batch, 0 to {size - 1}; got {low} to {high}: they were "
                "mined of another batch, so mine this one."
            )


def fixed_pairs(a: Tensor, p: Tensor, b: Tensor, n: Tensor, kept: Tensor) -> FixedPairs:
    """Return pairs with the mask of those that are selected."""
    pairs = FixedPairs(a, p, b, n)
    pairs.kept = kept
    return pairs


def fixed_triplets(a: Tensor, p: Tensor, n: Tensor, kept: Tensor) -> FixedTriplets:
    """Return triplets with the mask of those that are selected."""
    triplets = FixedTriplets(a, p, n)
    triplets.kept = kept
    return triplets


def as_pairs(triplets: Triplets) -> AnchoredPairs:
    """Convert each triplet to one positive and one negative pair of its anchor, for pair losses.

    Args:
        triplets: Indices of anchors, positives, negatives.

    Returns:
        The pairs, as many of each kind as triplets.

    Examples:
        >>> i = torch.tensor([0])
        >>> as_pairs(Triplets(i, i + 1, i + 2)).n.tolist()
        [2]
    """
    a, p, n = triplets
    if isinstance(triplets, FixedTriplets):
        return fixed_pairs(a, p, a, n, triplets.kept.repeat(2))
    return AnchoredPairs(a, p, a, n)


def tuples_within(tuples: Pairs | Triplets | None, size: int) -> Pairs | Triplets | None:
    """Return the tuples of the first `size` images alone, without those of a memory."""
    if isinstance(tuples, Triplets):
        kept = (tuples.p < size) & (tuples.n < size)
        return Triplets(*(index[kept] for index in tuples))
    if isinstance(tuples, Pairs):
        positive, negative = tuples.p < size, tuples.n < size
        return type(tuples)(tuples.a[positive], tuples.p[positive], tuples.b[negative], tuples.n[negative])
    return None


def pair_masks(
    pairs: Pairs, size: int, columns: int = 0
) -> tuple[Bool[Tensor, "n columns"], Bool[Tensor, "n columns"]]:
    """Convert pairs to masks.

    Args:
        pairs: Selected pairs; an undirected pair counts for both of its images, an anchored one for its anchor only.
        size: Number of images in the batch, n.
        columns: n + m with a memory of m images.

    Returns:
        Two n × n masks, n × (n + m) with a memory: row i marks the selected positives, and the selected negatives, of
        image i.

    Examples:
        >>> first, second = torch.tensor([0]), torch.tensor([1])
        >>> positive, negative = pair_masks(Pairs(first, second, first, second + 1), size=3)
        >>> positive.int().tolist()
        [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    masks, columns = [], columns or size
    if isinstance(pairs, FixedPairs):
        for first, second, kept in zip(
            pairs[::2], pairs[1::2], pairs.kept.split([len(pairs.a), len(pairs.b)]), strict=True
        ):
            times = torch.zeros(size, columns, device=first.device).index_put(
                (first, second), kept.float(), accumulate=True
            )
            masks.append(times > 0)
        return masks[0], masks[1]
    for first, second in ((pairs.a, pairs.p), (pairs.b, pairs.n)):
        mask = torch.zeros(size, columns, dtype=torch.bool, device=first.device)
        mask[first, second] = True
        if not isinstance(pairs, AnchoredPairs):
            mask[:, :size] |= mask[:, :size].T.clone()
        masks.append(mask)
    return masks[0], masks[1]
