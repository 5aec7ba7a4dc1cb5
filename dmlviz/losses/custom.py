"""Losses that a person makes: a formula of a pair or a triplet, a sum of losses."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dmlviz.catalog.formula import QUANTITIES, Formula, read_formula
from dmlviz.catalog.losses import LossChoice
from dmlviz.losses import build
from dmlviz.losses.all_triplets import sum_of_terms
from dmlviz.losses.base import Loss
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import REGISTRY, register_loss
from dmlviz.losses.terms import Numbers, SummedTerms, Terms
from dmlviz.miners.tuples import Pairs, Triplets
from dmlviz.ops.labeled_batch import LabeledBatch

_LEAST = 1e-12  # under a root or a logarithm, whose slopes are infinite at 0


@register_loss("custom_pair")
def custom_pair(batch: LossBatch, *, formula: str, distance: str, reduction: str) -> Terms:
    """A formula of each pair: its distance d, its cosine s, and y, which is 1 for one class and 0 for two."""
    read = read_formula(formula, "pairs")
    found = {name: batch.pairs(matrix) for name, matrix in _matrices(batch, read, distance).items()}
    values, same, kept = next(iter(found.values()))
    quantities = {name: pairs for name, (pairs, _, _) in found.items()} | {"y": same.to(values.dtype)}
    return _terms(read, quantities, kept, reduction)


@register_loss("custom_triplet")
def custom_triplet(batch: LossBatch, *, formula: str, distance: str, reduction: str) -> Terms | SummedTerms:
    """A formula of each triplet; over all triplets where no miner listed some."""
    read = read_formula(formula, "triplets")
    matrices = _matrices(batch, read, distance)

    def of(a: Tensor, p: Tensor, n: Tensor | None) -> Mapping[str, Tensor]:
        found = {}
        for name in read.names:
            matrix, rows = matrices[name[0]], a if name[2] == "a" else p
            if name.endswith("n"):
                found[name] = matrix[rows] if n is None else matrix[rows, n]
            else:
                found[name] = matrix[a, p][:, None] if n is None else matrix[a, p]
        return found

    if isinstance(batch.listed, Triplets):
        return _terms(read, of(*batch.listed), batch.kept, reduction)
    return sum_of_terms(batch, lambda a, p: value(read, of(a, p, None)), reduction)


def value(formula: Formula, quantities: Mapping[str, Tensor]) -> Tensor:
    """Return the values of a formula for tensors of each quantity."""
    values: Tensor = formula.value(quantities, _FUNCTIONS, _power)
    return values


def _matrices(batch: LossBatch, formula: Formula, distance: str) -> Mapping[str, Tensor]:
    """Return what the quantities of a formula are taken from, by their first letter."""
    made = {"d": lambda: batch.distances(distance), "s": batch.cosine}
    return {letter: make() for letter, make in made.items() if any(name[0] == letter for name in formula.names)}


def _terms(formula: Formula, quantities: Mapping[str, Tensor], kept: Tensor | None, reduction: str) -> Terms:
    def numbers() -> Numbers:
        symbols = QUANTITIES[formula.of]
        return {symbols[name]: quantities[name] for name in formula.names}

    return Terms(value(formula, quantities), kept, reduction, "relu" not in formula.text, numbers)


def _larger(a: Tensor | float, b: Tensor | float) -> Tensor:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return torch.maximum(a, b)
    return a.clamp(min=b) if isinstance(a, Tensor) else _larger(b, a)


def _smaller(a: Tensor | float, b: Tensor | float) -> Tensor:
    return -_larger(-a, -b)


def _power(base: Tensor | float, exponent: float) -> Tensor | float:
    return base.clamp(min=_LEAST) ** exponent if isinstance(base, Tensor) and exponent < 1 else base**exponent


_FUNCTIONS: Mapping[str, Callable[..., Tensor]] = {
    "relu": torch.relu,
    "softplus": functional.softplus,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "log": lambda x: x.clamp(min=_LEAST).log(),
    "sqrt": lambda x: x.clamp(min=_LEAST).sqrt(),
    "tanh": torch.tanh,
    "abs": torch.abs,
    "min": _smaller,
    "max": _larger,
}


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
        first, second = _seen(self.a, batch), _seen(self.b, batch)
        self.a.after_step(first)
        self.b.after_step(second.second or second)

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
        seen = _seen(self.b, shared)
        batches = [
            (self.a, _seen(self.a, shared), tuples),
            (self.b, seen.second or seen, tuples if shared.second is None else None),
        ]
        first, second = (
            loss.compute(batch, own if kind in loss.declaration.tuple_kinds else None) for loss, batch, own in batches
        )
        return self.weights[0] * first + self.weights[1] * second


def _seen(loss: Loss, batch: LabeledBatch) -> LabeledBatch:
    """Return what a loss sees of a batch: with a BNNeck, one on images sees the features that entered it."""
    return batch if batch.entered is None or not loss.declaration.needs_pairs else batch.entered
