"""Losses with class weights, as they are offered."""

from dmlviz.declarations import LossDeclaration

PROXIES: list[LossDeclaration] = []
