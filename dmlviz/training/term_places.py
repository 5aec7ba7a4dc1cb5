"""The position of each comparison among a loss's terms, by the shape that the loss gives its terms."""

import math
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor

from dmlviz.losses.answers import Arc
from dmlviz.losses.base import Loss
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.class_weights import ClassWeights
from dmlviz.losses.terms import Terms
from dmlviz.miners.tuples import Pairs, Triplets
from dmlviz.training.tuple_difficulty import MinedTuples

Layout = Literal["matrix", "triplets", "pairs", "images", "groups", "unknown"]


def term_places(part: Terms, batch: LossBatch, mined: MinedTuples, compares: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return where the terms of each comparison are.

    Args:
        part: The terms of the batch.
        batch: The batch as the loss saw it.
        mined: The comparisons of the batch (k).
        compares: Kind of the loss's comparisons, see `LossSpec`.

    Returns:
        For each of t terms, comparison after comparison: the comparison (from 0 to k − 1), the place of the term in the
        flattened values, and whether it is of a pair of two classes.
    """
    rows = torch.as_tensor(mined.indices, dtype=torch.int64)
    every, first = torch.arange(len(rows)), rows[:, 0]
    counts = torch.ones_like(part.values, dtype=torch.bool) if part.mask is None else part.mask.expand_as(part.values)
    layout = _layout(part, batch, compares)
    none = torch.zeros(len(rows), dtype=torch.bool)
    if layout == "images":
        return _those_that_count(every, first, none, counts)
    if mined.kind == "classes" or layout == "unknown":
        return every[:0], every[:0], none[:0]
    if layout == "groups":
        assert part.term_of is not None
        term = part.term_of[first]
        together = (term >= 0) & (term == part.term_of[rows[:, 1]])
        return _those_that_count(every[together], term[together], none[together], counts)
    if layout == "triplets":
        return (every, every, none) if len(part.values) == len(rows) else (every[:0], every[:0], none[:0])
    # The term of a pair counts in one direction or the other.
    other = rows[:, 1:]
    pairs = torch.stack([every[:, None].expand_as(other), first[:, None].expand_as(other), other], dim=-1).flatten(0, 1)
    row, i, j = pairs.T
    negative = batch.labels[i] != batch.labels[j]
    if layout == "matrix":
        n = len(batch)
        return _those_that_count(row, torch.where(counts[i, j], i * n + j, j * n + i), negative, counts)
    tuples = batch.tuples
    if not isinstance(tuples, Pairs):  # every pair once, row after row of the upper triangle
        low, high = torch.minimum(i, j), torch.maximum(i, j)
        place = torch.div(low * (2 * len(batch) - low - 1), 2, rounding_mode="floor") + high - low - 1
        return _those_that_count(row, place, negative, counts)
    columns = torch.cat([tuples.a, tuples.b]).tolist(), torch.cat([tuples.p, tuples.n]).tolist()
    places = {pair: k for k, pair in enumerate(zip(*columns, strict=True))}
    place = torch.tensor([places.get(pair, -1) for pair in zip(i.tolist(), j.tolist(), strict=True)], dtype=torch.int64)
    return _those_that_count(row[place >= 0], place[place >= 0], negative[place >= 0], counts)


def count_noun(part: Terms, batch: LossBatch, compares: str) -> str:
    """Return what a loss of this layout has one term for, in the plural."""
    layout = _layout(part, batch, compares)
    if layout == "images":
        return "images" if compares == "classes" else "anchors"
    every_pair = layout == "pairs" and not isinstance(batch.tuples, Pairs)
    if layout == "matrix" or every_pair:
        negative = batch.labels[:, None] != batch.labels
        negative = negative[tuple(torch.triu_indices(len(batch), len(batch), 1))] if every_pair else negative
        counts = negative if part.mask is None else part.mask & negative
        return "pairs" if counts.any() else "positive pairs"
    return layout if layout in ("triplets", "pairs") else "terms"


def _layout(part: Terms, batch: LossBatch, compares: str) -> Layout:
    values, n = part.values, len(batch)
    if part.term_of is not None:
        return "groups"
    if values.ndim == 2 and values.shape == (n, n):
        return "matrix"
    if values.ndim != 1:
        return "unknown"
    if isinstance(batch.tuples, Triplets):
        return "triplets" if len(values) == len(batch.tuples.a) else "unknown"
    if compares == "pairs" and (isinstance(batch.tuples, Pairs) or len(values) == n * (n - 1) // 2):
        return "pairs"
    return "images" if len(values) == n else "unknown"


def _those_that_count(row: Tensor, place: Tensor, negative: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    mask = counts.reshape(-1)[place]
    return row[mask], place[mask], negative[mask]


SAMPLES = 720  # directions


def class_arcs(loss: Loss, embeddings: Tensor) -> list[Arc]:
    """Return the arcs that a loss with angle margins leaves to each class; between them is the gap of the margin.

    Args:
        loss: Any loss; there are no arcs without class weights and angle margins.
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
