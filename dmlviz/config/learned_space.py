"""The space that a run learns in two or three dimensions, as a map draws it around the points."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.config.training import TrainConfig

SpaceKind = Literal["circle", "plane", "sphere", "space", "disk", "ball"]
_KINDS: dict[tuple[int, bool], SpaceKind] = {(2, True): "circle", (3, True): "sphere", (3, False): "space"}


class Space(TypedDict):
    """A learned space that is drawn as it is; a Poincaré disk or ball with its radius."""

    kind: SpaceKind
    radius: NotRequired[float]
    centers: Literal["points", "directions"]
    margins: tuple[float, float, float] | None


def learned_space(config: TrainConfig) -> Space:
    """Return kind of space, kind of class centers, margins m₁, m₂, m₃ of an angular loss.

    Args:
        config: The settings of a run whose map is its embedding.
    """
    loss = LOSSES[config.loss]
    kind = _KINDS.get((config.embedding_dim, config.normalize), "plane")
    if config.ball:
        kind = "disk" if config.embedding_dim == 2 else "ball"
        return {"kind": kind, "radius": config.ball**-0.5, "centers": "points", "margins": None}
    if not DATASETS[config.dataset].trainable:  # the loss is not known
        return {"kind": kind, "centers": "points", "margins": None}
    return {
        "kind": kind,
        "centers": "points" if loss.class_centers == "points" else "directions",
        "margins": None if loss.angular_margins is None else loss.angular_margins(config.loss_params),
    }
