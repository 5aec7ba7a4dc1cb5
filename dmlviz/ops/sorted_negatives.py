"""Negatives of every anchor sorted by distance; used by triplet miners and all-triplets losses."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmlviz.ops.fixed_path import may_look


@dataclass(frozen=True)
class SortedNegatives:
    """Negatives of each anchor, nearest first.

    Attributes:
        distance: n × n; row a holds the distances of anchor a's negatives, ascending, padded with infinity.
        index: n × n; their indices in the batch.
        count: Number n of negatives.
    """

    distance: Float[Tensor, "n columns"]
    index: Int[Tensor, "n columns"]
    count: Int[Tensor, " n"]

    def count_closer(self, bounds: Float[Tensor, "n k"]) -> Int[Tensor, "n k"]:
        """Count the negatives of each row with a distance < bound."""
        return self._clamp(torch.searchsorted(self.distance, bounds))

    def count_at_most(self, bounds: Float[Tensor, "n k"]) -> Int[Tensor, "n k"]:
        """Count the negatives of each row with a distance <= bound."""
        return self._clamp(torch.searchsorted(self.distance, bounds, right=True))

    def _clamp(self, positions: Tensor) -> Tensor:
        # A bound that is NaN or infinite sorts behind the padding.
        return torch.minimum(positions, self.count[:, None])


def sort_negatives(distances: Float[Tensor, "n columns"], negative: Bool[Tensor, "n columns"]) -> SortedNegatives:
    """Sort the negatives of each row by distance; NaN and infinite distances count as the largest float.

    Examples:
        >>> distances = torch.tensor([[0.0, 3.0, 1.0]])
        >>> negatives = sort_negatives(distances, torch.tensor([[False, True, True]]))
        >>> negatives.index[0, :2].tolist()
        [2, 1]
    """
    padded = finite(distances).masked_fill_(~negative, torch.inf)
    index = _argsort(padded)
    return SortedNegatives(padded.gather(1, index), index, negative.sum(1))


def finite(distances: Float[Tensor, "n columns"]) -> Float[Tensor, "n columns"]:
    """Return a detached copy with NaN and infinity replaced by the largest float, so that infinity can mean "none"."""
    return torch.nan_to_num(distances.detach(), nan=torch.finfo(distances.dtype).max)


def _argsort(rows: Tensor) -> Tensor:
    if not may_look(rows):
        return rows.argsort(dim=1, stable=True)
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
    """Positive pairs (a[i], p[i]), arranged as a table with one row per anchor.

    Attributes:
        a: Anchors.
        p: Positives.
        slot: Column of each pair in its anchor's row.
        anchors: Number of rows.
        width: Number of columns: the largest number of positives of any anchor.
    """

    a: Int[Tensor, " pairs"]
    p: Int[Tensor, " pairs"]
    slot: Int[Tensor, " pairs"]
    anchors: int
    width: int

    def table(self, values: Float[Tensor, " pairs"], fill: float) -> Float[Tensor, "anchors width"]:
        """Scatter one value per pair into the table, padded with `fill`."""
        table = values.new_full((self.anchors, self.width), fill)
        table[self.a, self.slot] = values
        return table

    def flat(self, table: Tensor) -> Tensor:
        """Gather the values of the pairs from a table."""
        return table[self.a, self.slot]


def pair_table(positive: Bool[Tensor, "n columns"]) -> PairTable:
    """Return the pairs of a mask, row by row."""
    a, p = positive.nonzero(as_tuple=True)
    count = positive.sum(1)
    slot = torch.arange(len(a), device=a.device) - (count.cumsum(0) - count)[a]
    return PairTable(a, p, slot, len(positive), int(count.max()) if len(count) else 0)
