"""Binds each loss's code to its declaration.

A loss without weights is a function of the batch: `@loss("name") def name(batch, *, margin, reduction) -> Terms`.
A loss with weights is a class: `@IMPLEMENTED.implements("name") class Name(Loss)`, see base.py.
"""

from collections.abc import Callable
from functools import partial

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.registry import Registry
from dmlviz.losses.base import Batch, FunctionLoss, LossParts

REGISTRY = Registry(LOSSES)

Formula = Callable[..., LossParts]


def register_loss(name: str) -> Callable[[Formula], Formula]:
    """Decorate the function of a `Batch` (and of the declared parameters) that computes the loss `name`."""

    def bind(formula: Formula) -> Formula:
        REGISTRY.register(name)(partial(FunctionLoss, formula))
        return formula

    return bind


__all__ = ["REGISTRY", "Batch", "register_loss"]
