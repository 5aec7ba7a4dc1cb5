"""What a miner selects: index tensors into a batch."""

from typing import NamedTuple

from jaxtyping import Int
from torch import Tensor


class Pairs(NamedTuple):
    """Positive pairs (a[i], p[i]) and negative pairs (b[j], n[j]); int64 indices into the batch."""

    a: Int[Tensor, " positives"]
    p: Int[Tensor, " positives"]
    b: Int[Tensor, " negatives"]
    n: Int[Tensor, " negatives"]


class Triplets(NamedTuple):
    """Triplets (a[i], p[i], n[i]): anchor, positive, negative; int64 indices into the batch."""

    a: Int[Tensor, " triplets"]
    p: Int[Tensor, " triplets"]
    n: Int[Tensor, " triplets"]
