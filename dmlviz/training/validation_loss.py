"""The loss on comparisons of validation images that are drawn once, beside the loss of the batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig
from dmlviz.miners.tuples import Pairs, Triplets, as_pairs
from dmlviz.storage.run_schema.validation import TupleKind
from dmlviz.training.sampling import random_triplets


@dataclass(frozen=True)
class FixedTuples:
    """Comparisons for the validation loss, the same at every snapshot and for every seed.

    Attributes:
        rows: The images, as indices into those that snapshots score.
        labels: Their classes, numbered as the loss has them.
        tuples: Triplets or pairs of `rows`; None where the loss compares images with classes.
        kind: Kind of the comparisons.
        count: Number of the comparisons.
    """

    rows: np.ndarray = field(repr=False)
    labels: Tensor = field(repr=False)
    tuples: Pairs | Triplets | None = field(repr=False)
    kind: TupleKind
    count: int


def fixed_tuples(config: TrainConfig, labels: np.ndarray) -> FixedTuples | None:
    """Draw a triplet for each image of a training class: the image, one of its class, one of another class.

    A loss on pairs gets both pairs of each triplet.

    Args:
        config: The settings.
        labels: Class IDs of the validation images that snapshots score (n).

    Returns:
        The comparisons; None for a loss that needs a whole batch or is a sum over its terms, behind a BNNeck, or with
        labels that validation images have not.
    """
    kind = _kind(config)
    rows = np.flatnonzero(np.isin(labels, config.train_classes))
    classes, counts = np.unique(labels[rows], return_counts=True)
    if kind is None or len(classes) < 2 or counts.min() < 2:
        return None
    class_ids = torch.from_numpy(np.searchsorted(config.train_classes, labels[rows]))
    if kind == "images":
        return FixedTuples(rows, class_ids, None, kind, len(rows))
    draws = next(random_triplets(labels[rows], len(rows), np.random.default_rng(0))).reshape(-1, 3)
    triplets = Triplets(*torch.from_numpy(np.ascontiguousarray(draws.T)))
    if kind == "triplets":
        return FixedTuples(rows, class_ids, triplets, kind, len(draws))
    return FixedTuples(rows, class_ids, as_pairs(triplets), kind, 2 * len(draws))


def _kind(config: TrainConfig) -> TupleKind | None:
    if not config.use_labels or config.second_labels or config.bn_neck or config.loss_params.get("reduction") == "sum":
        return None
    loss = LOSSES[config.loss]
    parts = [LOSSES[name] for name, _ in loss.parts(config.loss_params).values()] or [loss]
    of_images = [part for part in parts if part.compares != "classes"]
    if not of_images:
        return None if any(part.needs_pairs for part in parts) else "images"
    kinds: tuple[TupleKind, ...] = ("triplets", "pairs")
    return next((kind for kind in kinds if all(kind in part.tuple_kinds for part in of_images)), None)


NAME = "head_accuracy"


def head_accuracy(
    config: TrainConfig, embeddings: np.ndarray, labels: np.ndarray, weights: Mapping[str, np.ndarray]
) -> float | None:
    """Return the share of images whose own class has the highest score of the training classes, before any margin.

    Args:
        config: The settings; its loss says how class scores follow from the weights.
        embeddings: Embeddings (n × d).
        labels: Class IDs (n); images of held-out classes have no score and are left out.
        weights: The loss's learned parameters by name.

    Returns:
        The accuracy; None for a loss without weights of classes, and where no image is left.
    """
    rows = np.isin(labels, config.train_classes)
    if not rows.any():
        return None
    for prefix, name, params in _losses(config):
        spec = LOSSES[name]
        own = {key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)}
        if spec.compares == "classes" and spec.needs_classes and "weight" in own:
            x = embeddings[rows].astype(np.float64)  # a training about to diverge has values whose product overflows
            scores = spec.class_scores(x, labels[rows], config.train_classes, params, own)
            return float((np.array(config.train_classes)[scores.argmax(axis=1)] == labels[rows]).mean())
    return None


def _losses(config: TrainConfig) -> list[tuple[str, str, Mapping[str, object]]]:
    """Return the config's loss, or those of its sum that see the classes, each with the prefix of its weights."""
    parts = config.class_losses
    if not parts:
        return [("", config.loss, config.loss_params)]
    return [(f"{side}.", name, params) for side, (name, params) in parts.items()]
