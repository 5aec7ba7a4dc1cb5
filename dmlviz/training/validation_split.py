"""Division of the training images into those to learn from and those held out for scores during training. No torch."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.config import TrainConfig
from dmlviz.config.rules import long_tail
from dmlviz.data import Dataset, stratified_subset
from dmlviz.data.corrections import as_trained

MAX_SCORED = 600  # validation images scored at a snapshot: what they cost may not slow a training down
MIN_PER_CLASS = 2  # fewer have no neighbor of their class


@dataclass(frozen=True)
class TrainingSplit:
    """Indices into the training images of a data set, ascending.

    Attributes:
        train: Images that batches are made of.
        validation: Images held out of training; empty where a config asks for none, or batches need all images.
        scored: Those of the validation images that every snapshot scores.
        train_scored: As many images to train on of each class, whose scores show what the net has memorized.
    """

    train: np.ndarray = field(repr=False)
    validation: np.ndarray = field(repr=False)
    scored: np.ndarray = field(repr=False)
    train_scored: np.ndarray = field(repr=False)


def split_training_images(config: TrainConfig, labels: np.ndarray) -> TrainingSplit:
    """Hold the config's validation images out of the training images.

    Each class gives its share, at least two images, but never so many that a batch could not be filled. They are the
    same images for every seed, so that runs can be compared. Held-out classes give their share too: they are scored
    separately.

    Args:
        config: The settings.
        labels: Class IDs of all training images of the data set (n).

    Returns:
        The images to train on, those held out, and those of them that snapshots score.

    Examples:
        >>> config = TrainConfig(dataset="digits", images_per_class=4)
        >>> split = split_training_images(config, np.arange(300) % 10)
        >>> len(split.train), len(split.validation)
        (270, 30)
    """
    labels = np.asarray(labels)
    usable = np.flatnonzero(np.isin(labels, config.train_classes))[: config.max_train_images]
    usable = _long_tail(config, labels, usable)
    rows = _held_out(config, labels, usable)
    if len(np.unique(labels[rows])) < 2:
        none = np.zeros(0, np.int64)
        return TrainingSplit(usable, none, none, none)
    of_unseen_classes = np.flatnonzero(np.isin(labels[: usable[-1] + 1], config.held_out_classes))
    unseen = _take(labels, of_unseen_classes, lambda label, count: _share(config, count))
    validation = np.sort(np.concatenate([rows, unseen]))
    train = np.setdiff1d(usable, rows, assume_unique=True)
    sample = _sample_for_scores(config, labels, validation)
    classes, counts = np.unique(labels[sample], return_counts=True)
    like_scored = dict(zip(classes.tolist(), counts.tolist(), strict=True))
    members = train[np.isin(labels[train], classes)]
    return TrainingSplit(
        train, validation, sample, _take(labels, members, lambda label, count: min(count, like_scored[label]))
    )


def misfit_of(config: TrainConfig, data: Dataset, root: Path) -> str:
    """Return what `misfit_among` says of the images of a data set that would be trained on."""
    labels = as_trained(data, config, root).train.labels
    return misfit_among(config, labels, split_training_images(config, labels).train)


def misfit_among(config: TrainConfig, labels: np.ndarray, rows: np.ndarray) -> str:
    """Return what `misfit` says of some images of these classes (n), those to train on, or that the limit is none."""
    usable, limit = int(np.isin(labels, config.train_classes).sum()), config.max_train_images or 0
    if limit > usable:  # the same training as another run
        said = f"There are {usable:,} images to train on; got max_train_images = {limit}: use {usable} or fewer."
        return config.dataset_spec.said(said)
    return misfit(config, labels[rows])


def misfit(config: TrainConfig, labels: np.ndarray) -> str:
    """Return why images to train on, of these classes (n), do not fill a batch, in a sentence; empty where they do."""
    classes, counts = np.unique(labels, return_counts=True)
    sampler, fewest, said = config.sampler_spec, counts.min(initial=len(labels)), ""
    if sampler.by_class and len(classes) < config.classes_per_batch:
        most = len(classes)
        said = f"A batch has P = {config.classes_per_batch} classes; the training images have {most}: use P ≤ {most}."
    elif sampler.by_class and fewest < config.images_per_class:
        fewer = f"images_per_class ≤ {fewest}" if fewest > 1 else "a sampler that draws from all images"
        said = (
            f"A batch has K = {config.images_per_class} images per class; the smallest class to train on has {fewest}: "
            f"use {fewer}, or train on more images."
        )
    elif sampler.tuple_kind and (len(classes) < 2 or fewest < 2):
        said = (
            "Pairs and triplets need at least 2 classes with at least 2 images each; the training images have "
            f"{len(classes)} classes, the smallest with {fewest}: train on more images."
        )
    elif config.batch_size > len(labels) and not sampler.needs_labels and sampler.name not in SAMPLERS.plugged:
        said = f"A batch has {config.batch_size} images; got {len(labels):,} training images: use a smaller batch_size."
    return config.dataset_spec.said(said)


def _long_tail(config: TrainConfig, labels: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Return what an imbalance ρ leaves: n·ρ^(−i/(C−1)) images of class i of C, n those of the smallest, 1 at least.

    The exponential profile of Cui et al. 2019 and Cao et al. 2019, whose classes are equally large. A longer tail is
    part of a shorter one.
    """
    if config.imbalance == 1 or not len(usable):
        return usable
    classes, counts = np.unique(labels[usable], return_counts=True)
    kept = dict(zip(classes.tolist(), long_tail(int(counts.min()), config.imbalance, len(classes)), strict=True))
    return _take(labels, usable, lambda label, _: kept[label])


def _held_out(config: TrainConfig, labels: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Return the validation images of the training classes."""
    sampler = SAMPLERS[config.sampler]
    if config.validation_fraction == 0 or not len(usable):
        return np.zeros(0, np.int64)
    num_kept = max(MIN_PER_CLASS, config.images_per_class if sampler.by_class else 0)

    def share(label: int, count: int) -> int:
        most = min(_share(config, count), count - num_kept)
        return most if most >= MIN_PER_CLASS else 0

    held_out = _take(labels, usable, share)
    spare = len(usable) - config.effective_batch_size  # a batch has different images
    return held_out if len(held_out) <= spare or sampler.by_class else np.zeros(0, np.int64)


def _share(config: TrainConfig, count: int) -> int:
    return max(MIN_PER_CLASS, round(config.validation_fraction * count))


def _take(labels: np.ndarray, rows: np.ndarray, share: Callable[[int, int], int]) -> np.ndarray:
    """Draw `share(label, count)` of the `count` rows of each class, independently of the other classes."""
    draws = [np.zeros(0, np.int64)]
    for label in np.unique(labels[rows]):
        members = rows[labels[rows] == label]
        draws.append(np.random.default_rng(int(label)).permutation(members)[: share(int(label), len(members))])
    return np.sort(np.concatenate(draws))


def _sample_for_scores(config: TrainConfig, labels: np.ndarray, validation: np.ndarray) -> np.ndarray:
    """Return at most MAX_SCORED validation images, with at least two of each class that is among them."""
    most = min(MAX_SCORED, config.eval_subset_size)
    classes, counts = np.unique(labels[validation], return_counts=True)
    rows = stratified_subset(labels[validation], most)
    if most < MIN_PER_CLASS * len(classes):  # of some classes all images, rather than of all classes one image
        order = np.random.default_rng(0).permutation(len(classes))
        count = max(2, int(np.searchsorted(np.cumsum(counts[order]), most, side="right")))
        rows = np.flatnonzero(np.isin(labels[validation], classes[order[:count]]))
    return np.asarray(validation[rows])
