"""Each anchor's negatives in order of distance: what semi-hard, random-hard and all triplets are counted with."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class SortedNegatives:
    """Row a holds anchor a's negatives, nearest first: `distance` (then inf), `index`; `count` says how many."""

    distance: Float[Tensor, "n n"]
    index: Int[Tensor, "n n"]
    count: Int[Tensor, " n"]

    def count_closer(self, bounds: Float[Tensor, "n k"]) -> Int[Tensor, "n k"]:
        """Count the negatives of each row with a distance < bound."""
        return self._at_most_count(torch.searchsorted(self.distance, bounds))

    def count_at_most(self, bounds: Float[Tensor, "n k"]) -> Int[Tensor, "n k"]:
        """Count the negatives of each row with a distance <= bound."""
        return self._at_most_count(torch.searchsorted(self.distance, bounds, right=True))

    def _at_most_count(self, found: Tensor) -> Tensor:
        # A bound that is NaN or infinite lands behind the padding.
        return torch.minimum(found, self.count[:, None])


def sort_negatives(distances: Float[Tensor, "n n"], negative: Bool[Tensor, "n n"]) -> SortedNegatives:
    """Sort every row's negatives; NaN and infinite distances count as the farthest finite one."""
    padded = finite(distances).masked_fill_(~negative, torch.inf)
    index = _argsort(padded)
    return SortedNegatives(padded.gather(1, index), index, negative.sum(1))


def finite(distances: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """Copy without gradient, NaN and infinity replaced by the largest number: infinity is left free to say "none"."""
    return torch.nan_to_num(distances.detach(), nan=torch.finfo(distances.dtype).max)


def _argsort(rows: Tensor) -> Tensor:
    if rows.device.type != "cpu":
        return rows.argsort(dim=1)
    # NumPy sorts with vector instructions: float32 with its column number packed behind it, as one int64, eight times
    # as fast as torch, and ties in order.
    values = rows.contiguous().numpy()
    if values.dtype != np.float32:
        return torch.from_numpy(np.argsort(values, axis=1))
    bits = values.view(np.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # whole numbers in the order of the floats, negative ones too
    keys = (ordered.astype(np.int64) << 32) | np.arange(rows.shape[1])
    keys.sort(axis=1)
    return torch.from_numpy(keys & 0xFFFFFFFF)


@dataclass(frozen=True)
class PairTable:
    """The positive pairs (a[i], p[i]), and the column `slot[i]` that pair i has in a table with one row per anchor.

    `width` is the largest number of positives that an anchor has.
    """

    a: Int[Tensor, " pairs"]
    p: Int[Tensor, " pairs"]
    slot: Int[Tensor, " pairs"]
    anchors: int
    width: int

    def table(self, values: Float[Tensor, " pairs"], fill: float) -> Float[Tensor, "anchors width"]:
        """Lay one value per pair out as rows by anchor, padded with `fill`."""
        table = values.new_full((self.anchors, self.width), fill)
        table[self.a, self.slot] = values
        return table

    def flat(self, table: Tensor) -> Tensor:
        """Take the values of the pairs back out of a table."""
        return table[self.a, self.slot]


def pair_table(positive: Bool[Tensor, "n n"]) -> PairTable:
    """List the pairs of a mask, row by row."""
    a, p = positive.nonzero(as_tuple=True)
    count = positive.sum(1)
    slot = torch.arange(len(a), device=a.device) - (count.cumsum(0) - count)[a]
    return PairTable(a, p, slot, len(positive), int(count.max()) if len(count) else 0)
