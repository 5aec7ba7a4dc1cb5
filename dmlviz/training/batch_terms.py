"""The terms of a recorded batch: what the run's loss makes of each comparison, computed anew from what was recorded."""

import numpy as np
import torch
from torch import Tensor

from dmlviz import losses
from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.losses.base import Loss, Terms
from dmlviz.miners.tuples import AnchoredPairs, Pairs, Triplets
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.tuple_difficulty import ComparingLoss, classify_tuples


def batch_terms(config: TrainConfig, batch: BatchRecord) -> list[list[float]]:
    """Return the terms that each comparison of a recorded batch takes part in.

    Args:
        config: the run's.
        batch: one of its recorded batches.

    Returns:
        A list for each comparison of `classify_tuples`, in that order: the term of its triplet, or of its pairs, or of
        its first image, whichever the loss has; empty where the loss has no term for such a comparison.
    """
    seen = classify_tuples(config, batch)
    seer = ComparingLoss.from_config(config, batch)
    if LOSSES[seer.name].needs_classes and "weight" not in seer.learned:
        return [[] for _ in seen.indices]  # too large to be recorded
    loss = losses.build(
        seer.name,
        embedding_dim=batch.embeddings_before.shape[1],
        num_classes=len(config.train_classes),
        **seer.params,
    )
    with torch.no_grad():
        for name, weight in loss.named_parameters():
            if name in seer.learned:
                weight.copy_(torch.tensor(seer.learned[name]).reshape(weight.shape))
        x = torch.tensor(batch.embeddings_before)
        labels = torch.tensor(np.searchsorted(config.train_classes, batch.labels))
        tuples = _tuples(batch)
        if tuples is None and seen.kind == "triplets" and "triplets" in LOSSES[seer.name].tuple_kinds:
            tuples = Triplets(*torch.tensor(seen.indices).T)  # of all triplets, those that are listed
        loss(x, labels, tuples)
    found: list[list[float]] = [[] for _ in seen.indices]
    for part in loss.last_parts:
        if isinstance(part, Terms):
            for row, values in enumerate(_of_rows(part, loss, tuples, seen.indices, seen.kind, len(labels))):
                found[row] += values
    return found


def _tuples(batch: BatchRecord) -> Pairs | Triplets | None:
    if batch.triplets is not None:
        return Triplets(*torch.tensor(batch.triplets).T)
    if batch.pairs is None:
        return None
    chosen = batch.pairs if batch.is_anchored else np.triu(batch.pairs)
    same = batch.labels[:, None] == batch.labels
    positive, negative = np.nonzero(chosen & same), np.nonzero(chosen & ~same)
    kind = AnchoredPairs if batch.is_anchored else Pairs
    return kind(*(torch.tensor(part) for part in (*positive, *negative)))


def _of_rows(
    part: Terms, loss: Loss, tuples: Pairs | Triplets | None, rows: np.ndarray, kind: str, images: int
) -> list[list[float]]:
    """The terms of each comparison, by the shape that a loss gives its terms."""
    values = part.values
    mask = torch.ones_like(values, dtype=torch.bool) if part.mask is None else part.mask.expand_as(values)
    if values.ndim == 2 and values.shape == (images, images):
        pairs = [] if kind == "classes" else [(0, k) for k in range(1, rows.shape[1])]
        return [[term for i, j in pairs for term in _either(values, mask, row[i], row[j])] for row in rows]
    if loss.loss_per_image is not None or (values.ndim == 1 and len(values) == images and not _is_listed(part, tuples)):
        return [[values[row[0]].item()] if mask[row[0]] else [] for row in rows]
    if isinstance(tuples, Triplets) and len(values) == len(rows) == len(tuples.a):
        return [[value] for value in values.tolist()]
    if isinstance(tuples, Pairs) and kind == "pairs" and len(values) >= len(tuples.a) + len(tuples.b):
        first, second = torch.cat([tuples.a, tuples.b]).tolist(), torch.cat([tuples.p, tuples.n]).tolist()
        known = {pair: k for k, pair in enumerate(zip(first, second, strict=True))}
        return [
            [values[k].item()] if (k := known.get((int(i), int(j)))) is not None and mask[k] else [] for i, j in rows
        ]
    return [[] for _ in rows]


def _either(values: Tensor, mask: Tensor, i: int, j: int) -> list[float]:
    """The term of a pair, which counts in one direction or the other."""
    return next(([values[a, b].item()] for a, b in ((i, j), (j, i)) if mask[a, b]), [])


def _is_listed(part: Terms, tuples: Pairs | Triplets | None) -> bool:
    """Whether the terms are one for each tuple that a miner listed, not one for each image."""
    if tuples is None or (part.mask is not None and not bool(part.mask.all())):
        return False
    listed = len(tuples.a) + (len(tuples.b) if isinstance(tuples, Pairs) else 0)
    return len(part.values) == listed
