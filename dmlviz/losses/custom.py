"""Losses that a person types as a formula of a pair or a triplet."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional

from dmlviz.catalog.formula import QUANTITIES, Formula, read_formula
from dmlviz.losses.all_triplets import sum_of_terms
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.registry import register_loss
from dmlviz.losses.terms import Numbers, SummedTerms, Terms
from dmlviz.miners.tuples import Triplets

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
        return {symbols[name]: quantities[name] for name in symbols if name in formula.names}

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
