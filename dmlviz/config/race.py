"""A race: trainings that differ by their loss alone, from one start and on the same batches."""

from collections.abc import Iterable

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.recipes import RECIPES
from dmlviz.config.training import TrainConfig
from dmlviz.errors import UserError

MOST = 6  # runs side by side
_BATCHES = ("sampler", "batch_size", "classes_per_batch", "images_per_class", "views", "steps", "seed")


def racer(base: TrainConfig, loss: str) -> TrainConfig:
    """Return the settings of `base` with another loss: same net, batches and steps; the rest as the loss recommends.

    Raises:
        UserError: If the loss does not go with these settings.
    """
    return base.replace(loss=loss, **{name: getattr(base, name) for name in _BATCHES})


def why_not(base: TrainConfig, loss: str) -> str:
    """Return why a loss cannot race with these settings; "" where it can."""
    try:
        racer(base, loss)
    except UserError as error:
        return str(error)
    return ""


def usual_losses(base: TrainConfig) -> list[str]:
    """Return the losses of the recipe *All losses on this data*: the first six that can race with these settings."""
    return [loss for loss in RECIPES["all_losses"].losses if not why_not(base, loss)][:MOST]


def left_out(base: TrainConfig, losses: Iterable[str]) -> str:
    """Say in a sentence or two which losses are not among these, and which of them cannot race."""
    others = [name for name in LOSSES if name not in {*losses}]
    cannot = [name for name in others if why_not(base, name)]
    titles = "; ".join(LOSSES[name].title for name in others if name not in cannot)
    said = f"Not in this race: {titles}." if titles else ""
    if not cannot:
        return said
    return f"{said} Not possible with these settings: {'; '.join(LOSSES[name].title for name in cannot)}.".strip()
