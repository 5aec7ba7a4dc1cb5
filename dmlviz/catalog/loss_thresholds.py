"""Where a loss leaves images alone, as distances: what is drawn into a histogram, and what makes a pair hard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dmlviz.catalog.losses import LOSSES

Distance = Literal["euclidean", "sqeuclidean", "cosine"]

NEGLIGIBLE_LOGIT = 4.6  # log(1 + e^−x) is below 0.01 from here on: a smooth term that counts as left alone


@dataclass(frozen=True)
class PairThresholds:
    """A loss with a boundary leaves images of a class alone up to `near` and others from `far`; `middle` is between
    right and wrong. One without leaves a triplet alone whose negative is `gap` farther than its positive.

    All in `measure`; cosine means 1 − cosine. `sharp` where what is left alone costs nothing at all.
    """

    measure: Distance
    margin: float = 0.0
    positive_threshold: float | None = None
    decision_boundary: float | None = None
    negative_threshold: float | None = None
    is_hinge: bool = True


def pair_thresholds(name: str, params: Mapping[str, Any], learned: Mapping[str, np.ndarray]) -> PairThresholds:
    """How far the loss `name` reaches, with these parameters and the weights it has learned."""
    usual: Distance = params.get("distance", "cosine" if LOSSES[name].on_sphere else "euclidean")
    margin = params.get("margin", 0.0)
    match name:
        case "contrastive" | "contrastive_linear" | "contrastive_double":
            near = params["pos_margin"]
            return PairThresholds(
                "sqeuclidean" if name.endswith("double") else usual, margin - near, *_between(near, margin)
            )
        case "margin":
            boundary, room = float(np.mean(learned.get("beta", params["beta"]))), params["alpha"]
            return PairThresholds(usual, 2 * room, boundary - room, boundary, boundary + room)
        case "cosine_pair":
            return PairThresholds("cosine", 1.0, 0.0, 0.5, 1.0)
        case "distance_logistic":
            return PairThresholds(usual, NEGLIGIBLE_LOGIT, 0.0, margin, margin + NEGLIGIBLE_LOGIT, is_hinge=False)
        case "multi_similarity":
            at, pull, push = 1 - params["base"], NEGLIGIBLE_LOGIT / params["alpha"], NEGLIGIBLE_LOGIT / params["beta"]
            return PairThresholds("cosine", push, at - pull, at, at + push, is_hinge=False)
        case "circle":
            return PairThresholds("cosine", max(0.0, 1 - 2 * margin), margin, 0.5, 1 - margin, is_hinge=False)
        case "triplet_soft":
            return PairThresholds(usual, NEGLIGIBLE_LOGIT, is_hinge=False)
        case "hierarchical_triplet":
            return PairThresholds("sqeuclidean", params["beta"])
        case "nt_xent":
            return PairThresholds("cosine", NEGLIGIBLE_LOGIT * params["temperature"], is_hinge=False)
        case "tuplet_margin":
            return PairThresholds("cosine", NEGLIGIBLE_LOGIT / params["scale"], is_hinge=False)
        case "nca":
            return PairThresholds("sqeuclidean", NEGLIGIBLE_LOGIT / params["scale"], is_hinge=False)
        case _:
            soft = isinstance(margin, str)
            gap = NEGLIGIBLE_LOGIT if soft else 0.0 if LOSSES[name].needs_classes else float(margin)
            return PairThresholds(usual, gap, is_hinge=gap > 0 and not soft)


def _between(near: float, far: float) -> tuple[float, float, float]:
    return near, (near + far) / 2, far


def distances(x: np.ndarray, measure: Distance, y: np.ndarray | None = None) -> np.ndarray:
    """All distances (n × m, float32) from the rows of `x` to those of `y`, among the rows of `x` when None."""
    a = x.astype(np.float64)
    b = a if y is None else y.astype(np.float64)
    if measure == "cosine":
        return (1 - _directions(a) @ _directions(b).T).astype(np.float32)
    center = a.mean(axis=0) if len(a) else 0.0  # far from the origin the squares would lose their digits
    a, b = a - center, b - center
    squared = np.maximum((a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T, 0)
    if y is None:
        np.fill_diagonal(squared, 0)
    return (squared if measure == "sqeuclidean" else np.sqrt(squared)).astype(np.float32)


def _directions(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)
