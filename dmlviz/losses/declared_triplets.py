"""Losses on triplets, as they are offered."""

from dmlviz.declarations import LossDeclaration

TRIPLETS: list[LossDeclaration] = []
