"""The terms of a recorded batch: what the run's loss makes of each comparison, computed anew from what was recorded."""

import math
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from dmlviz import losses
from dmlviz.config import TrainConfig
from dmlviz.losses.answers import Arc, BatchTerms, TreeNode
from dmlviz.losses.base import Loss
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.class_weights import ClassWeights
from dmlviz.losses.terms import SummedTerms, Terms
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets
from dmlviz.ops.pairwise import without_autocast
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.tuple_difficulty import ComparingLoss, MinedTuples, classify_tuples

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
    if layout == "groups":
        assert part.term_of is not None
        term = part.term_of[first]
        together = (term >= 0) & ((term == part.term_of[rows[:, 1]]) if mined.kind != "classes" else True)
        return _those_that_count(every[together], term[together], none[together], counts)
    if mined.kind == "classes" or layout == "unknown":
        return every[:0], every[:0], none[:0]
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


NO_TERMS = "This loss is no sum over images or pairs, so that no comparison has a term of its own."
NOT_RECORDED = "The weights that this loss learns were not recorded with the batch, so its terms are not known."


def batch_terms(config: TrainConfig, batch: BatchRecord) -> BatchTerms:
    """Return the terms that each comparison of a recorded batch takes part in.

    Args:
        config: The run's.
        batch: One of its recorded batches.

    Returns:
        The terms: that of a comparison's triplet, or of its pairs, or of its first image, whichever the loss has.
    """
    tuples = classify_tuples(config, batch)
    seer = ComparingLoss.from_config(config, batch)
    loss = _loss(config, batch, seer)
    if loss is None:
        return BatchTerms(terms=[[] for _ in tuples.indices], reason=NOT_RECORDED)
    x = torch.tensor(batch.embeddings_before).double()  # e^100 is a usual number in a formula, and beyond float32
    labels = torch.tensor(_class_numbers(config, batch))
    with torch.no_grad(), without_autocast(x.device):
        whole = loss.batch(x, labels, _tuples(config, batch))
        parts = loss.parts(whole)
        count = "" if config.loss != seer.name or _is_thinned(batch) else _count(parts, whole, seer)
        if any(isinstance(part, SummedTerms) for part in parts):  # of all triplets, those that are listed
            whole = loss.batch(x, labels, Triplets(*torch.tensor(tuples.indices).T))
            parts = loss.parts(whole)
        terms = _terms([part for part in parts if isinstance(part, Terms)], whole, seer, tuples)
        arcs = class_arcs(loss, x)
        tree = _class_tree(loss, whole, config)
    if seer.spec.compares_dimensions:
        return BatchTerms(terms=[[] for _ in tuples.indices], reason=NO_TERMS)
    return BatchTerms(
        **terms,
        formula=seer.spec.term_for(seer.params),
        negative_formula=seer.spec.negative_term,
        note=seer.spec.term_note,
        count=count,
        arcs=arcs,
        tree=tree,
    )


def _class_tree(loss: Loss, whole: LossBatch, config: TrainConfig) -> list[TreeNode]:
    """Return the tree with class IDs of the data set; empty for a loss without one."""
    nodes = loss.class_tree(whole) if config.use_labels else []
    return [{**node, "label": config.train_classes[node["label"]] if node["label"] >= 0 else -1} for node in nodes]


def _loss(config: TrainConfig, batch: BatchRecord, seer: ComparingLoss) -> Loss | None:
    """Return the loss with the recorded weights; None if some are missing."""
    loss = losses.build(
        seer.name,
        embedding_dim=batch.embeddings_before.shape[1],
        num_classes=len(config.train_classes),
        **seer.params,
    )
    loss.curvature = config.ball
    with torch.no_grad():
        for name, weight in loss.state_dict().items():
            if name not in seer.learned:
                return None
            weight.copy_(torch.tensor(seer.learned[name]).reshape(weight.shape))
    return loss.double()


def _class_numbers(config: TrainConfig, batch: BatchRecord) -> np.ndarray:
    """Return the class indices of the images (n, from 0) as the loss saw them."""
    labels = batch.compared_labels(config)
    return np.searchsorted(config.train_classes if config.use_labels else np.unique(labels), labels)


def _tuples(config: TrainConfig, batch: BatchRecord) -> Pairs | Triplets | None:
    if batch.triplets is not None:
        return Triplets(*torch.tensor(batch.triplets).T)
    if batch.pairs is None:
        return None
    mask = batch.pairs if batch.is_anchored else np.triu(batch.pairs)
    labels = batch.compared_labels(config)
    same = labels[:, None] == labels
    positive, negative = np.nonzero(mask & same), np.nonzero(mask & ~same)
    kind = AnchoredPairs if batch.is_anchored else Pairs
    return kind(*(torch.tensor(part) for part in (*positive, *negative)))


def _is_thinned(batch: BatchRecord) -> bool:
    return batch.triplets is not None and len(batch.triplets) < batch.num_mined


def _count(parts: list[Terms | SummedTerms | Tensor], whole: LossBatch, seer: ComparingLoss) -> str:
    """Return a description of what the loss is the mean of; empty if it is the sum of several things."""
    (part, *others) = parts
    if others or isinstance(part, Tensor):
        return ""
    if isinstance(part, SummedTerms):
        count, noun = int(part.terms), "triplets"
    else:
        mask = torch.ones_like(part.values, dtype=torch.bool) if part.mask is None else part.mask
        count, noun = int(mask.expand_as(part.values).sum()), count_noun(part, whole, seer.spec.compares)
    return f"{count:,} {noun if count != 1 else noun.removesuffix('s')}"


def _terms(parts: list[Terms], whole: LossBatch, seer: ComparingLoss, tuples: MinedTuples) -> dict[str, Any]:
    """Return the terms of each comparison, and their numbers."""
    terms: list[list[list[float]]] = [[] for _ in tuples.indices]
    symbols: list[str] = []
    constants: dict[str, float] = {}
    for part in parts:
        numbers = {} if part.numbers is None else part.numbers()
        columns = {symbol: value for symbol, value in numbers.items() if isinstance(value, Tensor) and value.ndim}
        symbols = list(columns)
        constants = {symbol: _plain(value) for symbol, value in numbers.items() if symbol not in columns}
        rows, places, negative = term_places(part, whole, tuples, seer.spec.compares)
        table = [part.values, *(column.expand_as(part.values) for column in columns.values())]
        values = torch.stack([column.reshape(-1)[places].double() for column in table], dim=1)
        values = torch.cat([values[:, :1], negative[:, None].double(), values[:, 1:]], dim=1)
        for row, term in zip(rows.tolist(), values.nan_to_num().tolist(), strict=True):
            terms[row].append([_plain(value) for value in term])
    return {"terms": terms, "symbols": symbols, "constants": constants}


def _plain(value: Tensor | float) -> float:
    """Return the number to six digits: more are not shown."""
    return float(f"{float(value):.6g}")
