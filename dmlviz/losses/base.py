"""The one mechanism behind every loss: a checked batch in, terms and a mask out, reduced to a scalar."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dmlviz.catalog.parameters import LossSpec
from dmlviz.errors import UserError
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets, as_pairs, pair_masks
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.pairwise import clamp_range, without_autocast
from dmlviz.ops.reductions import keep_graph, reduce

Numbers = Mapping[str, Tensor | float]
"""What stands in the formula of a term, by its symbol in LaTeX; tensors can be broadcast to the values of the terms."""


class Terms(NamedTuple):
    """Values of any shape, the mask (broadcastable to it; None: all) of those that count, and how they become a number.

    A `smooth` term never reaches 0 exactly; it counts as active while it is above 0.01, when about 1 % of its pull
    is left. Other terms are active when they are not 0.

    `numbers` fills the formula of a term (`LossSpec.term`); it is called only when somebody looks at a batch.
    `term_of` (n) says which term an image takes part in, −1 for none, where the shape of the values does not: they are
    n × n for pairs, n for images, as long as the tuples that a miner listed.
    """

    values: Tensor
    mask: Tensor | None
    reduction: str = "mean"
    smooth: bool = False
    numbers: Callable[[], Numbers] | None = None
    term_of: Tensor | None = None

    def reduce(self) -> Tensor:
        """Return the loss that these terms make."""
        return reduce(self.values, self.mask, self.reduction)

    def detach(self) -> "Terms":
        """Return the terms without their graph, which the numbers would keep alive."""
        return self._replace(values=self.values.detach(), numbers=None)


class SummedTerms(NamedTuple):
    """Terms too many to be listed: their sum, how many there are, how many of them are active, how many not 0.

    `nonzero` is left out where the active terms are those.
    """

    sum: Tensor
    terms: Tensor
    active: Tensor
    reduction: str = "mean"
    nonzero: Tensor | None = None

    def reduce(self) -> Tensor:
        """Return the loss that these terms make; raise UserError for a reduction that needs each of them."""
        if self.reduction == "none":
            raise UserError("Only listed terms come unreduced, all triplets of a batch are too many: use a miner.")
        if self.reduction == "sum":
            return self.sum
        nonzero = self.active if self.nonzero is None else self.nonzero
        return self.sum / (self.terms if self.reduction == "mean" else nonzero).clamp_min(1)

    def detach(self) -> "SummedTerms":
        """Return the sum without its graph."""
        return self._replace(sum=self.sum.detach())


LossParts = Terms | SummedTerms | Sequence[Terms | SummedTerms | Tensor]
"""What a formula returns: terms, or several terms and scalars (regularizers) that are summed."""


class Batch:
    """What a formula sees: embeddings, labels, and which pairs count: all of the batch, or those of a miner."""

    def __init__(self, shared: LabeledBatch, tuples: Pairs | Triplets | None = None) -> None:
        self.shared = shared
        self.embeddings = shared.embeddings
        self.labels = shared.labels
        self.tuples = tuples

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def x(self) -> Tensor:
        """The embeddings in float32 (or float64), held within the range in which losses add up."""
        return clamp_range(self.embeddings)

    @property
    def same_class(self) -> Tensor:
        """Which images are of one class (n × n), each with itself included."""
        return self.shared.same_class

    @property
    def off_diagonal(self) -> Tensor:
        """Every pair but of an image with itself (n × n)."""
        return self.shared.off_diagonal

    @cached_property
    def _masks(self) -> tuple[Tensor, Tensor]:
        if isinstance(self.tuples, Pairs):
            return pair_masks(self.tuples, len(self))
        return self.same_class & self.off_diagonal, ~self.same_class

    @property
    def positive(self) -> Tensor:
        """The positives P(a) of each anchor, in row a (n × n)."""
        return self._masks[0]

    @property
    def negative(self) -> Tensor:
        """The negatives N(a) of each anchor, in row a (n × n)."""
        return self._masks[1]

    @property
    def has_both(self) -> Tensor:
        """Which anchors have a positive and a negative (n)."""
        return self.positive.any(dim=1) & self.negative.any(dim=1)

    @property
    def unique_positive_pairs(self) -> Tensor:
        """The positive pairs (n × n), each once unless the miner gave it a direction."""
        return self.positive if isinstance(self.tuples, AnchoredPairs) else self.positive.triu()

    def terms(
        self,
        values: Tensor,
        mask: Tensor | None = None,
        reduction: str = "mean",
        *,
        smooth: bool = False,
        numbers: Callable[[], Numbers] | None = None,
    ) -> Terms:
        """Return `Terms`, for a plug-in: its file need not import torch, which the server does without."""
        return Terms(values, mask, reduction, smooth, numbers)

    def counts(self) -> Numbers:
        """Return how many positives and negatives each anchor has (n), for the sentence below a formula."""
        return {"positives": self.positive.sum(dim=1), "negatives": self.negative.sum(dim=1)}

    def class_indices(self, count: int) -> Tensor:
        """Return the labels as rows of class weights; raise UserError where one is not in 0 … count − 1."""
        low, high = (int(label) for label in self.labels.aminmax()) if len(self) else (0, 0)
        if not 0 <= low <= high < count:
            raise UserError(
                f"Labels number the class weights, 0 to {count - 1}; got {low} to {high}: "
                "renumber the classes, or build with more num_classes."
            )
        return self.labels

    def distances(self, kind: str) -> Tensor:
        """Return "euclidean", "sqeuclidean" or "cosine" distances (n × n): a shared matrix, not to be written into."""
        return self.shared.distances(kind)

    def cosine(self) -> Tensor:
        """Return the cosines s_ij (n × n): the shared matrix, not to be written into."""
        return self.shared.cosine()

    def pairs(self, matrix: Tensor, *, directed: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Return what a pair loss runs over: values of the matrix, which of them are positive, which of them count.

        All three are n × n when every pair counts, and vectors when a miner listed pairs. A pair counts once, and both
        ways round when its value depends on which image is the anchor (`directed`).
        """
        if not isinstance(self.tuples, Pairs):
            return matrix, self.same_class, self.off_diagonal if directed else self.off_diagonal.triu()
        rows, columns, same = self._mined_pairs(directed)
        # One index into the row of all numbers takes a third of the time of two, there and back.
        listed = matrix.reshape(-1).index_select(0, rows * len(self) + columns)
        return listed, same, torch.ones_like(same)

    def anchors(self, values: Tensor) -> Tensor:
        """Return `values` (one an image) of each anchor, shaped to go with the directed `pairs`."""
        return values[self._mined_pairs(True)[0]] if isinstance(self.tuples, Pairs) else values[:, None]

    def _mined_pairs(self, directed: bool) -> tuple[Tensor, Tensor, Tensor]:
        assert isinstance(self.tuples, Pairs)
        a, p, b, n = self.tuples
        rows, columns = torch.cat([a, b]), torch.cat([p, n])
        same = torch.arange(len(rows), device=rows.device) < len(a)
        if directed and not isinstance(self.tuples, AnchoredPairs):
            return torch.cat([rows, columns]), torch.cat([columns, rows]), same.repeat(2)
        return rows, columns, same


class Loss(nn.Module):
    """`loss(embeddings, labels, tuples=None)`: a scalar with a graph, 0 where nothing is valid, NaN only for NaN.

    Subclasses say their `terms`.
    """

    declaration: LossSpec
    __call__: Callable[..., Tensor]

    def __init__(self) -> None:
        super().__init__()
        self._last_parts: list[Terms | SummedTerms] = []
        self._images = 0

    def class_centers(self) -> Tensor | None:
        """Where the loss wants the classes (k × d, one or several each), or in which direction; None mostly."""
        return None

    @property
    def active(self) -> Tensor:
        """Share of the terms of the last call that were active, a scalar from 0 to 1; counted when asked for."""
        active, total = self._count_terms()
        return active / total.clamp_min(1)

    @property
    def num_terms(self) -> Tensor:
        """How many terms the last call had, a scalar; counted when asked for."""
        return self._count_terms()[1]

    def _count_terms(self) -> tuple[Tensor, Tensor]:
        """Return how many terms of the last call were active, and how many there were."""
        active = total = torch.zeros(())
        for part in self._last_parts:
            if isinstance(part, Terms):
                alive = part.values > 0.01 if part.smooth else part.values != 0
                mask = torch.ones_like(alive) if part.mask is None else part.mask
                active = active.to(alive.device) + (alive & mask).sum()
                total = total.to(alive.device) + mask.expand_as(part.values).sum()
            else:
                active, total = active.to(part.active.device) + part.active, total.to(part.terms.device) + part.terms
        return active, total

    @property
    def loss_per_image(self) -> Tensor | None:
        """The terms of the last call where it was one an image, each of which counts (n); None otherwise."""
        part = self._last_parts[0] if len(self._last_parts) == 1 else None
        if not isinstance(part, Terms) or part.values.ndim != 1 or len(part.values) != self._images:
            return None
        every = part.mask is None or (part.mask.shape == part.values.shape and bool(part.mask.all()))
        return part.values if every else None

    @property
    def last_parts(self) -> Sequence[Terms | SummedTerms]:
        """The terms of the last call, without their graph; scalars that were added to them are left out."""
        return self._last_parts

    def terms(self, batch: Batch) -> LossParts:
        """Return the terms of a batch, or several terms and scalars."""
        raise NotImplementedError

    def batch(self, embeddings: Tensor, labels: Any, tuples: Pairs | Triplets | None = None) -> Batch:
        """Return what `terms` sees of n × d embeddings with n labels; raise UserError as a call does."""
        return Batch(LabeledBatch(embeddings, labels), self._accepted(tuples))

    def parts(self, batch: Batch) -> list[Terms | SummedTerms | Tensor]:
        """Return `terms` as a list."""
        parts = self.terms(batch)
        return [parts] if isinstance(parts, Terms | SummedTerms) else list(parts)

    def forward(self, embeddings: Tensor, labels: Any, tuples: Pairs | Triplets | None = None) -> Tensor:
        """Return the loss of n × d embeddings with n labels, over the tuples of a miner when these are given.

        Raises UserError for wrong shapes, labels that are no whole numbers, tuples of the wrong kind.
        """
        return self.compute(LabeledBatch(embeddings, labels), tuples)

    def compute(self, shared: LabeledBatch, tuples: Pairs | Triplets | None = None) -> Tensor:
        """Return the loss of a batch whose matrices a miner or another loss uses too; as `forward` otherwise."""
        batch = Batch(shared, self._accepted(tuples))
        with without_autocast(batch.embeddings.device):
            parts = self.parts(batch)
            reduced = [part if isinstance(part, Tensor) else part.reduce() for part in parts]
            vectors = [part for part in reduced if part.ndim]
            loss = torch.cat(vectors) if vectors else sum(reduced[1:], start=reduced[0])
            # Nothing of an embedding may get lost: not its graph, where no pair is valid, and not a NaN.
            loss = keep_graph(loss, batch.embeddings)
        self._images = len(batch)
        self._last_parts = [part.detach() for part in parts if not isinstance(part, Tensor)]
        return loss

    def _accepted(self, tuples: Any) -> Pairs | Triplets | None:
        if tuples is None:
            return None
        if isinstance(tuples, Pairs | Triplets):
            kind = "pairs" if isinstance(tuples, Pairs) else "triplets"
            if kind in self.declaration.tuple_kinds:
                if isinstance(tuples, Triplets) and "pairs" in self.declaration.tuple_kinds:
                    return as_pairs(tuples)  # a loss on pairs that takes both
                return tuples
        else:
            kind = type(tuples).__name__
        takes = " or ".join(sorted(self.declaration.tuple_kinds))
        use = f"use a miner that makes {takes}" if takes else "call it without a miner"
        raise UserError(f"{self.declaration.name} takes {takes or 'no tuples'}; got {kind}: {use}.")


class FunctionLoss(Loss):
    """A loss without weights: a function of the batch and its parameters."""

    def __init__(
        self,
        formula: Callable[..., LossParts],
        *,
        embedding_dim: int | None,
        num_classes: int | None,
        seed: int,
        **params: Any,
    ) -> None:
        super().__init__()
        self.formula = formula
        self.params = params

    def terms(self, batch: Batch) -> LossParts:
        """Return what the function makes of the batch."""
        return self.formula(batch, **self.params)

    def extra_repr(self) -> str:
        """Name the function and the parameters."""
        return ", ".join([self.formula.__name__, *(f"{name}={value!r}" for name, value in self.params.items())])
