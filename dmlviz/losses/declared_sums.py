"""Sums of losses, as they are offered."""

from dmlviz.declarations import LossDeclaration

SUMS: list[LossDeclaration] = []
