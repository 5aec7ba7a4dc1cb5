"""Losses on pairs: every pair of the batch, or those that a miner lists."""

import torch

from dmlviz.losses.module import Batch, Terms
from dmlviz.losses.registry import loss


@loss("contrastive")
def contrastive(batch: Batch, *, margin: float, pos_margin: float, reduction: str) -> Terms:
    """P: [d − m⁺]₊², N: [m − d]₊² (Hadsell, Chopra, LeCun 2006, without their ½)."""
    d, same, counts = batch.pairs(batch.matrix("euclidean"))
    return Terms(torch.where(same, d - pos_margin, margin - d).relu().square(), counts, reduction)
