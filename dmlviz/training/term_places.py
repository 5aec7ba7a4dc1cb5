"""Which of a loss's terms a comparison takes part in, by the shape that the loss gives its terms."""

from typing import Literal

import torch
from torch import Tensor

from dmlviz.losses.batch import Batch
from dmlviz.losses.terms import Terms
from dmlviz.miners.tuples import Pairs, Triplets
from dmlviz.training.tuple_difficulty import MinedTuples

Layout = Literal["matrix", "triplets", "pairs", "images", "groups", "unknown"]


def term_places(part: Terms, batch: Batch, seen: MinedTuples, compares: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return where the terms of each comparison are.

    Args:
        part: the terms of the batch.
        batch: what the loss saw.
        seen: the comparisons of the batch (k).
        compares: what the loss compares, see `LossSpec`.

    Returns:
        For each of t terms, comparison after comparison: the comparison (from 0 to k − 1), the place of the term in the
        flattened values, and whether it is of a pair of two classes.
    """
    rows = torch.as_tensor(seen.indices, dtype=torch.int64)
    every, first = torch.arange(len(rows)), rows[:, 0]
    counts = torch.ones_like(part.values, dtype=torch.bool) if part.mask is None else part.mask.expand_as(part.values)
    layout = _layout(part, batch, compares)
    none = torch.zeros(len(rows), dtype=torch.bool)
    if layout == "images":
        return _those_that_count(every, first, none, counts)
    if seen.kind == "classes" or layout == "unknown":
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
    assert isinstance(batch.tuples, Pairs)
    tuples = batch.tuples
    listed = torch.cat([tuples.a, tuples.b]).tolist(), torch.cat([tuples.p, tuples.n]).tolist()
    known = {pair: k for k, pair in enumerate(zip(*listed, strict=True))}
    place = torch.tensor([known.get(pair, -1) for pair in zip(i.tolist(), j.tolist(), strict=True)], dtype=torch.int64)
    return _those_that_count(row[place >= 0], place[place >= 0], negative[place >= 0], counts)


def count_noun(part: Terms, batch: Batch, compares: str) -> str:
    """Return what a loss of this layout has one term for, in the plural."""
    layout = _layout(part, batch, compares)
    if layout == "images":
        return "images" if compares == "classes" else "anchors"
    if layout == "matrix":
        negative = batch.labels[:, None] != batch.labels
        counts = negative if part.mask is None else part.mask & negative
        return "pairs" if counts.any() else "positive pairs"
    return layout if layout in ("triplets", "pairs") else "terms"


def _layout(part: Terms, batch: Batch, compares: str) -> Layout:
    values, n = part.values, len(batch)
    if part.term_of is not None:
        return "groups"
    if values.ndim == 2 and values.shape == (n, n):
        return "matrix"
    if values.ndim != 1:
        return "unknown"
    if isinstance(batch.tuples, Triplets):
        return "triplets" if len(values) == len(batch.tuples.a) else "unknown"
    if isinstance(batch.tuples, Pairs) and compares == "pairs":
        return "pairs"
    return "images" if len(values) == n else "unknown"


def _those_that_count(row: Tensor, place: Tensor, negative: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    chosen = counts.reshape(-1)[place]
    return row[chosen], place[chosen], negative[chosen]
