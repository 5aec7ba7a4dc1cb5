"""The terms of a recorded batch: what the run's loss makes of each comparison, computed anew from what was recorded."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dmlviz import losses
from dmlviz.config import TrainConfig
from dmlviz.losses.answers import BatchTerms, TreeNode
from dmlviz.losses.base import Loss
from dmlviz.losses.batch import LossBatch
from dmlviz.losses.terms import SummedTerms, Terms
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets
from dmlviz.ops.pairwise import without_autocast
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.term_places import class_arcs, count_noun, term_places
from dmlviz.training.tuple_difficulty import ComparingLoss, MinedTuples, classify_tuples

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
    with torch.no_grad():
        for name, weight in loss.named_parameters():
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
        columns = {
            symbol: value for symbol, value in numbers.items() if isinstance(value, Tensor) and value.numel() > 1
        }
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
