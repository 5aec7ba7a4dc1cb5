"""What every miner has in common: the batch as it sees it, its random numbers, its binding to a declaration."""

from collections.abc import Callable
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.registry import Registry
from dmlviz.miners.tuples import Pairs, Triplets
from dmlviz.ops.pairwise import check_batch, cosine_matrix, distance_matrix

IMPLEMENTATIONS = Registry(MINERS)
implements = IMPLEMENTATIONS.register


class Batch:
    """Embeddings and labels as a miner looks at them: who shares a class with whom, and how far apart they are."""

    def __init__(self, embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"], generator: torch.Generator) -> None:
        self.embeddings = embeddings
        self.labels = labels
        self.generator = generator

    @cached_property
    def negative(self) -> Bool[Tensor, "n n"]:
        """Where row and column are of different classes."""
        return self.labels[:, None] != self.labels

    @cached_property
    def positive(self) -> Bool[Tensor, "n n"]:
        """Where row and column are different images of one class."""
        return (~self.negative).fill_diagonal_(False)

    @cached_property
    def positive_pairs(self) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
        """Anchors and positives of the ordered positive pairs, row by row."""
        a, p = self.positive.nonzero(as_tuple=True)
        return a, p

    def distances(self, kind: str) -> Float[Tensor, "n n"]:
        """The step's shared distance matrix, without gradient."""
        return distance_matrix(self.embeddings, kind)

    def cosines(self) -> Float[Tensor, "n n"]:
        """The step's shared cosine matrix, without gradient."""
        return cosine_matrix(self.embeddings)

    def rand(self, count: int) -> Float[Tensor, " count"]:
        """Random numbers in [0, 1), drawn on the CPU so that every device sees the same ones."""
        return torch.rand(count, generator=self.generator, dtype=torch.float64).to(self.embeddings.device)

    def randint_below(self, counts: Int[Tensor, " pairs"]) -> Int[Tensor, " pairs"]:
        """One random whole number in [0, count) for each count > 0."""
        return (self.rand(len(counts)) * counts).long()


class Miner:
    """`mine(embeddings, labels) -> Pairs | Triplets`: selects without gradient, with random numbers of its own."""

    def __init__(self, name: str, select: Callable[[Batch], Pairs | Triplets], seed: int) -> None:
        self.name = name
        self._select = select
        self._generator = torch.Generator().manual_seed(seed)

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Pairs | Triplets:
        """Select from a batch (n × d, n); raise UserError where these are not embeddings and their class numbers."""
        embeddings, labels = check_batch(embeddings, labels)
        with torch.no_grad():
            return self._select(Batch(embeddings, labels, self._generator))
