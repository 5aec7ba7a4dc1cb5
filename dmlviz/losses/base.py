"""The one mechanism behind every loss: a checked batch in, terms and a mask out, reduced to a scalar."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from dmlviz.catalog.parameters import LossSpec
from dmlviz.errors import UserError
from dmlviz.losses.answers import TreeNode
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.terms import LossParts, SummedTerms, Terms
from dmlviz.miners.tuples import Pairs, Triplets, as_pairs, check_tuples
from dmlviz.ops.fixed_path import is_transformed
from dmlviz.ops.labeled_batch import LabeledBatch
from dmlviz.ops.pairwise import without_autocast
from dmlviz.ops.reductions import keep_graph


class Loss(nn.Module):
    """`loss(embeddings, labels, tuples=None)`: a scalar with a graph, 0 where nothing is valid, NaN only for NaN.

    Subclasses say their `terms`.

    Examples:
        >>> from dmlviz.losses import build
        >>> loss, embeddings, labels = build("triplet", margin=0.5), torch.tensor([[0.0], [1.0], [1.2]]), [0, 0, 1]
        >>> loss(embeddings, labels)
        tensor(0.8000)
        >>> loss.terms(loss.batch(embeddings, labels)).reduce()
        tensor(0.8000)
    """

    declaration: LossSpec
    rebuild: Callable[[], "Loss"]
    curvature = 0.0  # of the Poincaré ball in which embeddings lie
    smoothing = 0.0  # of the labels, for a softmax over classes
    __call__: Callable[..., Tensor]

    def __init__(self) -> None:
        super().__init__()
        self._last_parts: list[Terms | SummedTerms] | None = []
        self._images = 0

    def __reduce__(self) -> tuple[Callable[[], "Loss"], tuple[()], dict[str, Any]]:
        """Make a copy by building it, since what the catalog and a plug-in hold of a loss is not saved."""
        return self.rebuild, (), {name: vars(self)[name] for name in vars(self).keys() - {"declaration", "formula"}}

    def class_centers(self) -> Tensor | None:
        """Return the points or directions that the loss pulls the classes to (k × d, one or several each), or None."""
        return None

    def class_tree(self, batch: LossBatch) -> list[TreeNode]:
        """Return the tree of classes that the margins follow from, each node after its children; empty if none does."""
        return []

    def after_step(self, batch: LabeledBatch) -> None:
        """Renew what it keeps from batch to batch, its buffers; a training asks for this after each update.

        Most losses keep nothing.
        """

    @property
    def active(self) -> Tensor:
        """Share of the terms of the last call that were active, a scalar from 0 to 1; counted when asked for."""
        active, total = self._count_terms()
        return active / total.clamp_min(1)

    @property
    def num_terms(self) -> Tensor:
        """The number of terms of the last call, a scalar; counted when it is read."""
        return self._count_terms()[1]

    def _count_terms(self) -> tuple[Tensor, Tensor]:
        """Return how many terms of the last call were active, and how many there were."""
        active = total = torch.zeros((), dtype=torch.float32, device="cpu")
        for part in self.last_parts:
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
        part = self.last_parts[0] if len(self.last_parts) == 1 else None
        if not isinstance(part, Terms) or part.term_of is not None or part.values.shape != (self._images,):
            return None
        every = part.mask is None or (part.mask.shape == part.values.shape and bool(part.mask.all()))
        return part.values if every else None

    @property
    def last_parts(self) -> Sequence[Terms | SummedTerms]:
        """The terms of the last call, without their graph; scalars that were added to them are left out.

        Raises UserError after a call inside a transform of torch.func, whose tensors end with it.
        """
        if self._last_parts is None:
            raise UserError("A call inside a transform of torch.func keeps no terms: call the loss outside of it.")
        return self._last_parts

    def terms(self, batch: LossBatch) -> LossParts:
        """Return the terms of a batch, or several terms and scalars.

        Args:
            batch: Distances, masks and embeddings of a batch.
        """
        raise NotImplementedError

    def batch(self, embeddings: Tensor, labels: Any, tuples: Pairs | Triplets | None = None) -> LossBatch:
        """Return what `terms` sees of n × d embeddings with n labels; raise UserError as a call does.

        Args:
            embeddings: n × d, float.
            labels: n whole numbers.
            tuples: Those of a miner; all of the batch when None.
        """
        check_tuples(tuples, len(embeddings))
        return LossBatch(LabeledBatch(embeddings, labels, curvature=self.curvature), self._accepted(tuples))

    def parts(self, batch: LossBatch) -> list[Terms | SummedTerms | Tensor]:
        """Return `terms` as a list."""
        parts = self.terms(batch)
        return [parts] if isinstance(parts, Terms | SummedTerms) else list(parts)

    def forward(self, embeddings: Tensor, labels: Any, tuples: Pairs | Triplets | None = None) -> Tensor:
        """Return the loss of n × d embeddings with n labels, over the tuples of a miner when these are given.

        Raises UserError for wrong shapes, labels that are no whole numbers, tuples of the wrong kind or of
        another batch.

        Args:
            embeddings: n × d, float.
            labels: n whole numbers.
            tuples: Those of a miner; all of the batch when None.
        """
        shared = LabeledBatch(embeddings, labels, curvature=self.curvature)
        check_tuples(tuples, len(shared))
        return self.compute(shared, tuples)

    def compute(self, shared: LabeledBatch, tuples: Pairs | Triplets | None = None) -> Tensor:
        """Return the loss of a batch whose matrices a miner or another loss uses too; as `forward` otherwise."""
        batch = LossBatch(shared, self._accepted(tuples))
        with without_autocast(batch.embeddings.device):
            parts = self.parts(batch)
            reduced = [part if isinstance(part, Tensor) else part.reduce() for part in parts]
            vectors = [part for part in reduced if part.ndim]
            loss = torch.cat(vectors) if vectors else sum(reduced[1:], start=reduced[0])
            # Nothing of an embedding may get lost: not its graph, where no pair is valid, and not a NaN.
            loss = keep_graph(loss, batch.embeddings)
        self._images = len(batch)
        kept = [part.detach() for part in parts if not isinstance(part, Tensor)]
        self._last_parts = None if is_transformed(loss) else kept
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
        /,
        *,
        embedding_dim: int | None,
        num_classes: int | None,
        seed: int,
        **params: Any,
    ) -> None:
        super().__init__()
        self.formula = formula
        self.params = params

    def terms(self, batch: LossBatch) -> LossParts:
        """Return what the function makes of the batch.

        Args:
            batch: Distances, masks and embeddings of a batch.
        """
        return self.formula(batch, **self.params)

    def extra_repr(self) -> str:
        """Name the function and the parameters."""
        return ", ".join([self.formula.__name__, *(f"{name}={value!r}" for name, value in self.params.items())])
