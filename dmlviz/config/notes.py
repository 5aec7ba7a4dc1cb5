"""Notes on a training beside its loss and its net, in sentences."""

from dmlviz.catalog.backbones import BACKBONES
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config.training_fields import TrainFields


def views_note(config: TrainFields) -> str:
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


def cost_note(config: TrainFields) -> str:
    """Return a sentence on the time that a training with unfrozen blocks takes without a GPU; empty for others."""
    features = DATASETS[config.dataset].features
    if not config.unfrozen_blocks or features is None:
        return ""
    images, ms = config.effective_batch_size * config.views, BACKBONES[features.backbone].training_ms
    return (
        f"Without a GPU about {ms:g} ms of one core for each image: {images * ms / 1000:.1f} s for a step of {images}, "
        "and nearly as long for as many images of a snapshot."
    )
