"""Sums of losses."""

from typing import Any

from torch import Tensor

from dmlviz.catalog.losses import LossChoice
from dmlviz.losses import build
from dmlviz.losses.base import Loss
from dmlviz.losses.registry import REGISTRY
from dmlviz.miners.tuples import Pairs
from dmlviz.ops.labeled_batch import LabeledBatch


@REGISTRY.register("weighted_sum")
class WeightedSum(Loss):
    """w₁ L_a + w₂ L_b. A miner's tuples go to whichever of the two takes them, but to no loss with second labels."""

    def __init__(
        self, *, a: Any, b: Any, weights: list[float], num_second_classes: int | None = None, **sizes: Any
    ) -> None:
        super().__init__()
        (first, own), (second, others) = map(LossChoice.split, (a, b))
        self.a = build(first, **sizes, **own)
        self.has_own_labels = num_second_classes is not None
        self.b = build(second, **{**sizes, "num_classes": num_second_classes or sizes["num_classes"]}, **others)
        self.weights = weights

    def class_centers(self) -> Tensor | None:
        """Return those of the first of the two that has any; second labels are no classes."""
        first = self.a.class_centers()
        return self.b.class_centers() if first is None and not self.has_own_labels else first

    def after_step(self, batch: LabeledBatch) -> None:
        """Renew what the two losses keep."""
        self.a.after_step(batch)
        self.b.after_step(batch.second or batch)

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
        batches = [
            (self.a, shared, tuples),
            (self.b, shared.second or shared, tuples if shared.second is None else None),
        ]
        first, second = (
            loss.compute(batch, own if kind in loss.declaration.tuple_kinds else None) for loss, batch, own in batches
        )
        return self.weights[0] * first + self.weights[1] * second
