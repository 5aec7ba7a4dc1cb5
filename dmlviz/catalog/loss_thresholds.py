"""Where a loss leaves images alone, as distances: what is drawn into a histogram, and what makes a pair hard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dmlviz.catalog.losses import LOSSES

Measure = Literal["euclidean", "sqeuclidean", "cosine"]

FADED = 4.6  # log(1 + e^−x) is below 0.01 from here on: a smooth term that counts as left alone


@dataclass(frozen=True)
class Reach:
    """A loss with a boundary leaves images of a class alone up to `near` and others from `far`; `middle` is between
    right and wrong. One without leaves a triplet alone whose negative is `gap` farther than its positive.

    All in `measure`; cosine means 1 − cosine. `sharp` where what is left alone costs nothing at all.
    """

    measure: Measure
    gap: float = 0.0
    near: float | None = None
    middle: float | None = None
    far: float | None = None
    sharp: bool = True


def reach(name: str, params: Mapping[str, Any], learned: Mapping[str, np.ndarray]) -> Reach:
    """How far the loss `name` reaches, with these parameters and the weights it has learned."""
    usual: Measure = params.get("distance", "cosine" if LOSSES[name].on_sphere else "euclidean")
    margin = params.get("margin", 0.0)
    match name:
        case "contrastive" | "contrastive_linear" | "contrastive_double":
            near = params["pos_margin"]
            return Reach("sqeuclidean" if name.endswith("double") else usual, margin - near, *_between(near, margin))
        case "margin":
            boundary, room = float(np.mean(learned.get("beta", params["beta"]))), params["alpha"]
            return Reach(usual, 2 * room, boundary - room, boundary, boundary + room)
        case "cosine_pair":
            return Reach("cosine", 1.0, 0.0, 0.5, 1.0)
        case "distance_logistic":
            return Reach(usual, FADED, 0.0, margin, margin + FADED, sharp=False)
        case "multi_similarity":
            at, pull, push = 1 - params["base"], FADED / params["alpha"], FADED / params["beta"]
            return Reach("cosine", push, at - pull, at, at + push, sharp=False)
        case "circle":
            return Reach("cosine", max(0.0, 1 - 2 * margin), margin, 0.5, 1 - margin, sharp=False)
        case "triplet_soft":
            return Reach(usual, FADED, sharp=False)
        case "hierarchical_triplet":
            return Reach("sqeuclidean", params["beta"])
        case "nt_xent":
            return Reach("cosine", FADED * params["temperature"], sharp=False)
        case "tuplet_margin":
            return Reach("cosine", FADED / params["scale"], sharp=False)
        case "nca":
            return Reach("sqeuclidean", FADED / params["scale"], sharp=False)
        case _:
            soft = isinstance(margin, str)
            gap = FADED if soft else 0.0 if LOSSES[name].needs_classes else float(margin)
            return Reach(usual, gap, sharp=gap > 0 and not soft)


def _between(near: float, far: float) -> tuple[float, float, float]:
    return near, (near + far) / 2, far


def distances(x: np.ndarray, measure: Measure, y: np.ndarray | None = None) -> np.ndarray:
    """All distances (n × m, float32) from the rows of `x` to those of `y`, among the rows of `x` when None."""
    a = x.astype(np.float64)
    b = a if y is None else y.astype(np.float64)
    if measure == "cosine":
        return (1 - _directions(a) @ _directions(b).T).astype(np.float32)
    centre = a.mean(axis=0) if len(a) else 0.0  # far from the origin the squares would lose their digits
    a, b = a - centre, b - centre
    squared = np.maximum((a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T, 0)
    if y is None:
        np.fill_diagonal(squared, 0)
    return (squared if measure == "sqeuclidean" else np.sqrt(squared)).astype(np.float32)


def _directions(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)
