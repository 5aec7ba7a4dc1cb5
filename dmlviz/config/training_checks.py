"""Checks of settings that must fit together; each raises UserError."""

from typing import TYPE_CHECKING

from dmlviz.catalog.backbones import blocks_of
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.nets import NETS, has_batch_norm, nets_for
from dmlviz.catalog.parameters import LossSpec
from dmlviz.errors import UserError

if TYPE_CHECKING:
    from dmlviz.config.training import TrainConfig

MAX_BATCH_SIZE = 4096  # a distance matrix of 16 million entries


def check_classes(config: "TrainConfig") -> None:
    """Refuse classes that the data set does not have, or too few of them to train on."""
    data, unseen = DATASETS[config.dataset], config.held_out_classes
    if not data.trainable and config.steps:
        raise UserError(
            f"{data.title} was embedded by another program and cannot be trained on here; choose another data set."
        )
    last = len(data.classes) - 1
    unknown = [label for label in unseen if not 0 <= label <= last]
    if unknown:
        raise UserError(f"Class IDs of {data.title} run from 0 to {last}; got {unknown[0]} in held_out_classes.")
    if unseen and len(data.trainable_classes) < len(data.classes):
        raise UserError(
            f"{data.title} tests on other classes than it trains on; got {len(unseen)} in held_out_classes: hold out "
            "none."
        )
    if unseen and len(config.train_classes) < 2:
        raise UserError(
            f"Training needs at least 2 classes; held_out_classes leaves {len(config.train_classes)} of "
            f"{len(data.classes)}: hold out fewer."
        )


def check_features(config: "TrainConfig") -> None:
    """Refuse what looks at pixels where a net takes the features of a backbone."""
    data = DATASETS[config.dataset]
    if config.net not in nets_for(data):
        raise UserError(
            f"{data.title} holds features of a backbone, which a head learns from; got the net {config.net}: choose "
            f"{' or '.join(nets_for(data))}."
        )
    blocks = blocks_of(data)
    if config.unfrozen_blocks > blocks:
        if data.features is None:
            raise UserError(
                f"Blocks are unfrozen of the backbone of a data set of features, and {data.title} has none; got "
                f"unfrozen_blocks = {config.unfrozen_blocks}: use 0, or compute features with dmlviz data features."
            )
        raise UserError(
            f"The backbone of {data.title} has {blocks} blocks; got unfrozen_blocks = {config.unfrozen_blocks}: use "
            f"{blocks} or fewer."
        )
    if config.frozen_batch_norm and not has_batch_norm(data, config.net, config.unfrozen_blocks):
        nets = ", ".join(name for name in nets_for(data) if NETS[name].batch_norm)
        raise UserError(
            f"Batch normalization is frozen where there is some; {config.net} has none: use frozen_batch_norm = false"
            + (f", or {nets}." if nets else ", or unfreeze blocks of a backbone that has some.")
        )
    if data.features is None or config.unfrozen_blocks:
        return
    if not config.use_labels:
        raise UserError(
            f"Training without labels needs augmented images, and the features of {data.title} were computed once; got "
            "use_labels = false: train with labels, or on the images themselves, or unfreeze blocks of the backbone."
        )
    if config.augmentation:
        raise UserError(
            f"The features of {data.title} were computed once, so its images cannot be augmented; got the "
            f"augmentation {', '.join(config.augmentation)}: use none, or unfreeze blocks of the backbone."
        )


def check_second_labels(config: "TrainConfig", loss: LossSpec) -> None:
    """Refuse second labels without a second loss, that the data set does not have, or beside unused labels."""
    if not config.second_labels:
        return
    roles = DATASETS[config.dataset].roles
    if not loss.parts(config.loss_params):
        raise UserError(
            f"Second labels are for the second loss of a sum; got {config.second_labels} for {loss.name}: use "
            "weighted_sum, or no second_labels."
        )
    if config.second_labels not in roles:
        rule = f"one of {', '.join(roles)}" if roles else "none, or another data set"
        raise UserError(
            f"{config.dataset} has {'the labels ' + ', '.join(roles) if roles else 'no second labels'}; got "
            f"{config.second_labels}: use {rule}."
        )
    if not config.use_labels:
        raise UserError("Second labels are labels; got use_labels = false: use no second_labels, or labels.")


def check_sampler(config: "TrainConfig", loss: LossSpec) -> None:
    """Refuse a sampler that makes tuples the loss does not take, or a miner beside it."""
    sampler = SAMPLERS[config.sampler]
    if not sampler.tuple_kind:
        return
    if config.miner is not None:
        raise UserError(
            f"{sampler.name} makes the {sampler.tuple_kind} itself; got the miner {config.miner}: use no miner."
        )
    if sampler.tuple_kind not in loss.tuple_kinds:
        rule = f"takes {' or '.join(sorted(loss.tuple_kinds))}" if loss.tuple_kinds else "takes whole batches"
        raise UserError(f"{loss.name} {rule}; {sampler.name} makes {sampler.tuple_kind}: use another sampler or loss.")


def check_views(config: "TrainConfig", loss: LossSpec) -> None:
    """Refuse views that are all the same, and what needs labels in a training without them."""
    sampler = SAMPLERS[config.sampler]
    if config.views > 1 and not config.augmentation:
        raise UserError(
            f"Views of an image differ by their augmentation; got views = {config.views} and no augmentation: "
            "set one, e.g. rotate=15."
        )
    if config.views > 1 and sampler.tuple_kind:
        raise UserError(
            f"{sampler.name} makes the {sampler.tuple_kind} itself; got views = {config.views}: use 1 view, or another "
            "sampler."
        )
    if config.projection_dim and loss.needs_classes:
        raise UserError(
            f"{loss.name} learns weights of classes, which belong to the embedding; got projection_dim = "
            f"{config.projection_dim}: use no projection head."
        )
    if config.use_labels:
        return
    if config.views < 2:
        raise UserError("Without labels, the positives of an image are its other views; got views = 1: use 2 or more.")
    if sampler.by_class or sampler.tuple_kind:
        raise UserError(f"{sampler.name} makes batches by class labels; got use_labels = false: use another sampler.")
    parts = [LOSSES[name] for name, _ in loss.parts(config.loss_params).values()] or [loss]
    of_classes = [part.name for part in parts if part.needs_classes or part.compares == "classes"]
    if of_classes:
        name = loss.name if of_classes[0] == loss.name else f"{of_classes[0]} in {loss.name}"
        raise UserError(
            f"{name} compares images with classes; got use_labels = false: use a loss that compares images with images."
        )


def check_batch(config: "TrainConfig", loss: LossSpec) -> None:
    """Refuse batches that are too large, or in which the loss finds nothing to compare."""
    images = config.effective_batch_size
    if images * config.views > MAX_BATCH_SIZE:
        remedy = "use fewer views or smaller batches" if config.views > 1 else "use fewer classes or images per class"
        raise UserError(f"A batch has at most {MAX_BATCH_SIZE} images; got {images * config.views}: {remedy}.")
    if config.max_train_images is not None and config.max_train_images < images:
        raise UserError(
            f"A batch has {images} images; got max_train_images = {config.max_train_images}: use smaller batches."
        )
    if not SAMPLERS[config.sampler].by_class:
        if loss.needs_pairs and images < 4:
            different = "different images" if config.views > 1 else "images"
            raise UserError(f"{loss.name} needs at least 4 {different} per batch; got {images}: use batch_size ≥ 4.")
        return
    classes, available, data = config.classes_per_batch, len(config.train_classes), DATASETS[config.dataset]
    if classes > available:
        count = len(data.classes)
        reason = f"{available} of {count} are seen" if available < count else f"{data.title} has {available}"
        raise UserError(f"A batch has P = {classes} classes; {reason}: use classes_per_batch ≤ {available}.")
    if not loss.needs_pairs:
        return
    if config.images_per_class * config.views < 2:
        raise UserError(
            f"{loss.name} needs at least 2 images of a class; got {images} images of {classes} classes: "
            f"use the balanced sampler with K = images_per_class ≥ 2."
        )
    if classes < 2 and config.steps:  # without steps nothing is compared: embeddings without labels
        raise UserError(
            f"{loss.name} needs images of at least 2 classes; got {images} images of 1 class: "
            f"use the balanced sampler with P = classes_per_batch ≥ 2."
        )


def check_space(config: "TrainConfig", loss: LossSpec) -> None:
    """Refuse a normalized embedding in one dimension."""
    if config.embedding_dim == 1 and (config.normalize or loss.on_sphere):
        embedding = "1-D embedding" if config.normalize else f"1-D embedding (by {loss.name})"
        raise UserError(
            f"A normalized {embedding} has only two points, −1 and 1; got embedding_dim = 1: use 2 or more."
        )
