"""The result of a loss before it becomes one number: terms, listed with a mask or only summed."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from torch import Tensor

from dmlviz.errors import UserError
from dmlviz.ops.reductions import reduce

Numbers = Mapping[str, Tensor | float]
"""The numbers in the formula of a term, by LaTeX symbol; tensors can be broadcast to the values of the terms."""


class Terms(NamedTuple):
    """Values of any shape, the mask (broadcastable; None: all) of those that count, and their reduction.

    A `smooth` term never reaches 0 exactly; it counts as active while it is above 0.01, when about 1% of its pull
    is left. Other terms are active when they are not 0.

    `numbers` fills the formula of a term (`LossSpec.term`); it is called only when a batch is shown.
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
"""The result of a formula: terms, or several terms and scalars (regularizers) that are summed."""
