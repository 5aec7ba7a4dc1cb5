"""Sums of losses."""

from typing import Any

from torch import Tensor

from dmlviz.catalog.losses.sums import LossChoice
from dmlviz.losses import build
from dmlviz.losses.base import Loss
from dmlviz.losses.registry import REGISTRY
from dmlviz.miners.tuples import Pairs
from dmlviz.ops.labeled_batch import LabeledBatch


@REGISTRY.register("weighted_sum")
class WeightedSum(Loss):
    """w₁ L_a + w₂ L_b. A miner's tuples go to whichever of the two takes them."""

    def __init__(self, *, a: Any, b: Any, weights: list[float], **sizes: Any) -> None:
        super().__init__()
        self.a, self.b = (build(name, **sizes, **params) for name, params in map(LossChoice.split, (a, b)))
        self.weights = weights

    def class_centers(self) -> Tensor | None:
        """Return those of the first of the two that has any."""
        first = self.a.class_centers()
        return self.b.class_centers() if first is None else first

    @property
    def active(self) -> Tensor:
        """Mean of the two losses' own."""
        return (self.a.active + self.b.active) / 2

    @property
    def num_terms(self) -> Tensor:
        """Sum of the two losses' own."""
        return self.a.num_terms + self.b.num_terms

    def compute(self, shared: LabeledBatch, tuples: Any = None) -> Tensor:
        """Return the weighted sum; raises UserError where either loss does, or where neither takes the tuples."""
        self._accepted(tuples)
        kind = "pairs" if isinstance(tuples, Pairs) else "triplets"
        first, second = (
            loss.compute(shared, tuples if kind in loss.declaration.tuple_kinds else None) for loss in (self.a, self.b)
        )
        return self.weights[0] * first + self.weights[1] * second
