"""Overlay of a learned space that is drawn directly: circle, plane, sphere or axes; class centers; margins."""

from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.config import TrainConfig

_SPACE_KINDS = {(2, True): "circle", (3, True): "sphere", (3, False): "space"}


def space_overlay(config: TrainConfig) -> dict[str, Any]:
    """Build the overlay: kind of space, kind of class centers, margins m₁, m₂, m₃ of an angular loss."""
    loss = LOSSES[config.loss]
    kind = _SPACE_KINDS.get((config.embedding_dim, config.normalize), "plane")
    if not DATASETS[config.dataset].trainable:  # the loss is not known
        return {"kind": kind, "centers": "points", "margins": None}
    return {
        "kind": kind,
        "centers": "points" if loss.class_centers == "points" else "directions",
        "margins": None if loss.angular_margins is None else loss.angular_margins(config.loss_params),
    }
