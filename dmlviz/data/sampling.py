"""How batches are put together: index arrays, one after the other, without end.

An epoch visits every image at least once, with one permutation of each class (or of the set) per epoch.
"""

from collections.abc import Callable, Iterator

import numpy as np

from dmlviz.binding import Registry
from dmlviz.config import TrainConfig
from dmlviz.data.declared import SAMPLERS
from dmlviz.errors import UserError

registry = Registry(SAMPLERS)


def build(config: TrainConfig, labels: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Return the endless batches (int64 indices into `labels`) that `config` asks for; raise UserError if it cannot be.

    Equal arguments give equal batches.
    """
    return registry[config.sampler](config, np.asarray(labels), np.random.default_rng(seed))


@registry.implements("balanced")
def _balanced(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return balanced(labels, config.classes_per_batch, config.images_per_class, rng)


@registry.implements("shuffled")
def _shuffled(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return shuffled(len(labels), config.batch_size, rng)


def balanced(
    labels: np.ndarray, classes_per_batch: int, images_per_class: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Batches of P classes with K different images each, class after class.

    Every class appears as often as its images need, so that larger classes are drawn more often where P leaves a
    choice, and smaller ones begin again where it does not.
    """
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < classes_per_batch:
        raise UserError(
            f"A balanced batch takes P = {classes_per_batch} classes; the training images have {len(classes)}: "
            f"use classes_per_batch ≤ {len(classes)}."
        )
    if counts.min() < images_per_class:
        scarce = classes[counts.argmin()]
        raise UserError(
            f"A balanced batch takes K = {images_per_class} images of a class; class {scarce} has {counts.min()}: "
            f"use images_per_class ≤ {counts.min()}, or train on more images."
        )
    members = [np.flatnonzero(labels == label) for label in classes]
    return _endless(lambda: balanced_epoch(members, classes_per_batch, images_per_class, rng))


def balanced_epoch(
    members: list[np.ndarray], classes_per_batch: int, images_per_class: int, rng: np.random.Generator
) -> np.ndarray:
    """Return one epoch of batches (batches × P·K); `members` holds the images of each class, at least K."""
    needed = np.array([-(-len(images) // images_per_class) for images in members])
    schedule = _schedule(needed, classes_per_batch, rng)
    epoch = np.empty((*schedule.shape, images_per_class), np.int64)
    for label, images in enumerate(members):
        turns = schedule == label
        # Read cyclically, a permutation of at least K never shows an image twice within K.
        epoch[turns] = np.resize(rng.permutation(images), (turns.sum(), images_per_class))
    return epoch.reshape(len(epoch), -1)


def shuffled(count: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Plain batches of different images; the last one of an epoch is filled up with the epoch's first images."""
    if batch_size > count:
        raise UserError(f"A batch takes {batch_size} images; there are {count} to train on: use a smaller batch_size.")
    batches = -(-count // batch_size)
    return _endless(lambda: np.resize(rng.permutation(count), (batches, batch_size)))


def _endless(epoch: Callable[[], np.ndarray]) -> Iterator[np.ndarray]:
    while True:
        yield from epoch()


def _schedule(needed: np.ndarray, classes_per_batch: int, rng: np.random.Generator) -> np.ndarray:
    """Return which classes each batch takes (batches × P): all different, class c in at least `needed[c]` batches.

    The fewest batches that can do it.
    """
    batches = max(needed.max(), -(-needed.sum() // classes_per_batch))
    if classes_per_batch == len(needed):
        return np.tile(np.arange(len(needed)), (batches, 1))
    turns = _fill_up(needed, batches * classes_per_batch - needed.sum(), batches, rng)
    schedule = np.empty((batches, classes_per_batch), np.int64)
    for batch in range(batches):
        # Draw without replacement in proportion to the turns left (Gumbel's trick), but first whoever has to be in
        # every batch from here on: so all turns can be given, and no class twice in a batch.
        with np.errstate(divide="ignore"):
            score = np.log(turns) + rng.gumbel(size=len(turns))
        score[turns == batches - batch] = np.inf
        schedule[batch] = np.argpartition(score, -classes_per_batch)[-classes_per_batch:]
        turns[schedule[batch]] -= 1
    return schedule


def _fill_up(turns: np.ndarray, spare: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Hand out `spare` further turns, one a class and round, to classes that have less than `most`."""
    turns = turns.copy()
    while spare:
        chosen = rng.permutation(np.flatnonzero(turns < most))[:spare]
        turns[chosen] += 1
        spare -= len(chosen)
    return turns
