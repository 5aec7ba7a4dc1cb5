"""Accuracy of the class scores that a loss learns: classification without neighbors. No torch."""

from collections.abc import Mapping

import numpy as np

from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig

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
