"""What a person must know of a training beside its loss and its net, in sentences."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dmlviz.config.training import TrainConfig


def views_note(config: "TrainConfig") -> str:
    """Return sentences on labels, views, augmentation, projection head and backbone; empty for most trainings."""
    strengths = ", ".join(f"{name} {strength:g}" for name, strength in config.augmentation.items())
    notes = []
    if not config.use_labels:
        notes.append(f"Labels unused in training: the positives of an image are its {config.views} views.")
    elif config.views > 1:
        notes.append(f"{config.views} views of each image.")
    if strengths:
        notes.append(f"Augmentation: {strengths}.")
    if config.projection_dim:
        notes.append(
            f"The loss sees a {config.projection_dim}-d projection; scores and maps are of the "
            f"{config.embedding_dim}-d embedding before it."
        )
    if config.unfrozen_blocks:
        blocks = "The last block" if config.unfrozen_blocks == 1 else f"The last {config.unfrozen_blocks} blocks"
        notes.append(f"{blocks} of the backbone trained, too, at {config.backbone_rate:g} × the learning rate.")
    return " ".join(notes)
