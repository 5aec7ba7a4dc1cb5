"""Overlay of a learned space that is drawn directly: circle, plane, sphere or axes; class centers; margins."""

from typing import Any

from dmlviz.config import TrainConfig

_SPACE_KINDS = {(2, True): "circle", (3, True): "sphere", (3, False): "space"}
_MARGINS = {
    "normalized_softmax": lambda p: (1, 0, 0),
    "proxy_nca": lambda p: (1, 0, 0),
    "large_margin_softmax": lambda p: (p["margin"], 0, 0),
    "sphereface": lambda p: (p["margin"], 0, 0),
    "cosface": lambda p: (1, 0, p["margin"]),
    "arcface": lambda p: (1, p["margin"], 0),
    "combined_margin": lambda p: (p["m1"], p["m2"], p["m3"]),
}


def space_overlay(config: TrainConfig) -> dict[str, Any]:
    """Build the overlay: kind of space, kind of class centers, margins m₁, m₂, m₃ of an angular loss."""
    margins = _MARGINS.get(config.loss)
    return {
        "kind": _SPACE_KINDS.get((config.embedding_dim, config.normalize), "plane"),
        "centers": "points" if config.loss == "center" else "directions",
        "margins": None if margins is None else margins(config.loss_params),
    }
