"""Base of all miners: the batch with its masks and distances, random numbers, and the registry."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.parameters import Registry
from dmlviz.miners.tuples import Pairs, Triplets
from dmlviz.ops.labeled_batch import LabeledBatch

IMPLEMENTATIONS = Registry(MINERS)
implements = IMPLEMENTATIONS.register


class MinerBatch:
    """A batch as miners use it: positive and negative masks, and pairwise distances without gradient.

    Args:
        shared: The embeddings and labels, with the matrices that the loss uses too.
        generator: Source of random numbers, on the CPU.
    """

    def __init__(self, shared: LabeledBatch, generator: torch.Generator) -> None:
        self.shared = shared
        self.embeddings = shared.embeddings
        self.labels = shared.labels
        self.generator = generator

    @cached_property
    def negative(self) -> Bool[Tensor, "n columns"]:
        """True where row and column are of different classes."""
        return ~self.shared.same_class

    @cached_property
    def positive(self) -> Bool[Tensor, "n columns"]:
        """True where row and column are different images of one class."""
        return self.shared.same_class & self.shared.off_diagonal

    @cached_property
    def positive_pairs(self) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
        """Anchors and positives of the ordered positive pairs, row by row."""
        a, p = self.positive.nonzero(as_tuple=True)
        return a, p

    def distances(self, kind: str) -> Float[Tensor, "n columns"]:
        """Return the "euclidean", "sqeuclidean" or "cosine" distances; shared with the loss, so read-only."""
        return self.shared.distances(kind)

    def cosine(self) -> Float[Tensor, "n columns"]:
        """Return the cosines; shared with the loss, so read-only."""
        return self.shared.cosine()

    def rand(self, count: int) -> Float[Tensor, " count"]:
        """Return random numbers in [0, 1), drawn on the CPU so that they are the same for every device."""
        return torch.rand(count, generator=self.generator, dtype=torch.float64, device="cpu").to(self.embeddings.device)

    def randint_below(self, counts: Int[Tensor, " pairs"]) -> Int[Tensor, " pairs"]:
        """Return one random integer in [0, count) for each count > 0."""
        return (self.rand(len(counts)) * counts).long()


class Miner:
    """A miner: `mine(embeddings, labels)` returns Pairs or Triplets, without gradient.

    Args:
        name: Name in the catalog.
        select: Implementation, called with the batch.
        seed: Seed of the miner's random generator.

    Examples:
        >>> from dmlviz.miners import build
        >>> miner, embeddings = build("batch_hard"), torch.tensor([[0.0], [1.0], [3.0]])
        >>> miner(embeddings, [0, 0, 1])
        Triplets(a=tensor([0, 1]), p=tensor([1, 0]), n=tensor([2, 2]))
        >>> miner.mine(LabeledBatch(embeddings, [0, 0, 1])).n
        tensor([2, 2])
    """

    def __init__(self, name: str, select: Callable[[MinerBatch], Pairs | Triplets], seed: int) -> None:
        self.name = name
        self._select = select
        self._generator = torch.Generator().manual_seed(seed)

    def __call__(self, embeddings: Tensor, labels: Any) -> Pairs | Triplets:
        """Select pairs or triplets of a batch.

        Args:
            embeddings: n × d.
            labels: Whole numbers or texts (n).

        Raises:
            UserError: For another shape or type.
        """
        return self.mine(LabeledBatch(embeddings, labels))

    def mine(self, batch: LabeledBatch) -> Pairs | Triplets:
        """Select pairs or triplets of a batch whose matrices the loss uses too.

        Args:
            batch: Embeddings and labels, with what was computed of them.

        Returns:
            Indices of the chosen images: pairs or triplets.
        """
        with torch.no_grad():
            return self._select(MinerBatch(batch, self._generator))
