"""Binds the implementation of each loss to its spec.

A loss without weights is a function of the batch: `@register_loss("name") def name(batch, *, margin, reduction)`.
A loss with weights is a class: `@REGISTRY.register("name") class Name(Loss)`, see base.py.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.parameters import Registry
from dmlviz.losses.base import FunctionLoss
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.terms import LossParts

Formula = Callable[..., LossParts]


class LossRegistry(Registry):
    """Every loss as a callable of `embedding_dim`, `num_classes`, `seed` and its parameters that returns a `Loss`."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        plugged = super().__missing__(name)
        is_formula = next(iter(inspect.signature(plugged).parameters), "") == "batch"
        return partial(FunctionLoss, plugged) if is_formula else plugged


REGISTRY = LossRegistry(LOSSES)


def register_loss(name: str) -> Callable[[Formula], Formula]:
    """Return a decorator of the function that computes a loss from a `LossBatch` and the declared parameters.

    Args:
        name: Name of the loss.
    """

    def bind(formula: Formula) -> Formula:
        REGISTRY.register(name)(partial(FunctionLoss, formula))
        return formula

    return bind


__all__ = ["REGISTRY", "LossBatch", "register_loss"]
