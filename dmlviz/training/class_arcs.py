"""Where on the circle each class wins although its margin counts against it."""

import math
from itertools import pairwise
from typing import TypedDict

import torch
from torch import Tensor

from dmlviz.losses.base import Loss
from dmlviz.losses.class_weights import ClassWeights

SAMPLES = 720  # directions


class Arc(TypedDict):
    """An arc on which the class in a row of the class weights wins, in radians."""

    row: int
    start: float
    end: float


def class_arcs(loss: Loss, embeddings: Tensor) -> list[Arc]:
    """Return the arcs that a loss with angle margins leaves to each class; between them is the gap of the margin.

    Args:
        loss: any loss; there are no arcs without class weights and angle margins.
        embeddings: n × d, whose mean length the directions are given; there are no arcs unless d is 2.
    """
    if not isinstance(loss, ClassWeights) or loss.declaration.angular_margins is None or embeddings.shape[1] != 2:
        return []
    step = 2 * math.pi / SAMPLES
    angles = (torch.arange(SAMPLES) + 0.5) * step
    x = embeddings.norm(dim=1).mean() * torch.stack([angles.cos(), angles.sin()], dim=1)
    winner = torch.full((SAMPLES,), -1)
    for row in range(loss.num_classes):
        scores = loss.scores(loss.batch(x, torch.full((SAMPLES,), row)))
        others = scores.clone()
        others[:, row] = -torch.inf
        winner[scores[:, row] > others.amax(dim=1)] = row
    edges = [0, *(torch.nonzero(winner.diff()).flatten() + 1).tolist(), SAMPLES]
    return [
        Arc(row=int(winner[low]), start=low * step, end=high * step)
        for low, high in pairwise(edges)
        if winner[low] >= 0
    ]
