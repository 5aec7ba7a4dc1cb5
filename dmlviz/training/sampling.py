"""How batches are put together: index arrays, one after the other, without end.

An epoch visits every image at least once, with one permutation of each class (or of the set) per epoch; only
episodes are drawn anew each.
"""

from collections.abc import Callable, Iterator

import numpy as np

from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.catalog.registry import Registry
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError

registry = Registry(SAMPLERS)


def build(config: TrainConfig, labels: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Return the endless batches (int64 indices into `labels`) that `config` asks for; raise UserError if it cannot be.

    Equal arguments give equal batches.
    """
    return registry[config.sampler](config, np.asarray(labels), np.random.default_rng(seed))


@registry.register("balanced")
def _balanced(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return balanced(labels, config.classes_per_batch, config.images_per_class, rng)


@registry.register("shuffled")
def _shuffled(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return shuffled(len(labels), config.batch_size, rng)


@registry.register("episodes")
def _episodes(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return episodes(labels, config.classes_per_batch, config.images_per_class, rng)


@registry.register("random_pairs")
def _random_pairs(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return random_pairs(labels, config.batch_size // 2, rng)


@registry.register("random_triplets")
def _random_triplets(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return random_triplets(labels, config.batch_size // 3, rng)


def balanced(
    labels: np.ndarray, classes_per_batch: int, images_per_class: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Batches of P classes with K different images each, class after class.

    Every class appears as often as its images need, so that larger classes are drawn more often where P leaves a
    choice, and smaller ones begin again where it does not.
    """
    members = _indices_by_class(labels, classes_per_batch, images_per_class)
    return _repeat(lambda: balanced_epoch(members, classes_per_batch, images_per_class, rng))


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
    return _repeat(lambda: _shuffled_rows(count, batch_size, rng))


def episodes(
    labels: np.ndarray, classes_per_batch: int, images_per_class: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Batches of P random classes with K different random images each, class after class, each drawn anew."""
    members = _indices_by_class(labels, classes_per_batch, images_per_class)

    def episode() -> np.ndarray:
        classes = rng.choice(len(members), classes_per_batch, replace=False)
        return np.concatenate([rng.choice(members[label], images_per_class, replace=False) for label in classes])

    return _repeat(lambda: episode()[None])


def random_pairs(labels: np.ndarray, pairs: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Batches of `pairs` pairs, images 2i and 2i + 1: every image in turn with a random one, of its class if i is even.

    The classical siamese net's batches: nothing is selected, and half of the pairs are positive.
    """
    partners = _Partners(labels)

    def epoch() -> np.ndarray:
        anchors = _shuffled_rows(len(labels), pairs, rng)
        others = np.where(np.arange(pairs) % 2 == 0, partners.same(anchors, rng), partners.other(anchors, rng))
        return np.stack([anchors, others], axis=-1).reshape(len(anchors), -1)

    return _repeat(epoch)


def random_triplets(labels: np.ndarray, triplets: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Batches of `triplets` triplets, images 3i, 3i + 1, 3i + 2: every image in turn, a positive and a negative."""
    partners = _Partners(labels)

    def epoch() -> np.ndarray:
        anchors = _shuffled_rows(len(labels), triplets, rng)
        drawn = [anchors, partners.same(anchors, rng), partners.other(anchors, rng)]
        return np.stack(drawn, axis=-1).reshape(len(anchors), -1)

    return _repeat(epoch)


class _Partners:
    """Draws for each image another one of its class, or one of another class, all of these equally often."""

    def __init__(self, labels: np.ndarray) -> None:
        classes, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(classes) < 2 or counts.min() < 2:
            raise UserError(
                f"Pairs and triplets take 2 classes or more with 2 images or more each; the training images have "
                f"{len(classes)} classes, the smallest with {counts.min()}: train on more images."
            )
        self.order = np.argsort(index, kind="stable")  # all images, class after class
        self.place = np.argsort(self.order)
        self.start = (np.cumsum(counts) - counts)[index]
        self.count = counts[index]

    def same(self, anchors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        start, count = self.start[anchors], self.count[anchors]
        return self.order[start + (self.place[anchors] - start + rng.integers(1, count)) % count]

    def other(self, anchors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        start, count = self.start[anchors], self.count[anchors]
        place = rng.integers(0, len(self.order) - count)
        return self.order[place + count * (place >= start)]


def _shuffled_rows(count: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Every one of `count` in a random order, in rows of `width`; the last is filled up from the first."""
    return np.resize(rng.permutation(count), (-(-count // width), width))


def _indices_by_class(labels: np.ndarray, classes_per_batch: int, images_per_class: int) -> list[np.ndarray]:
    """The images of each class; UserError where a batch of P classes with K different images cannot be made."""
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < classes_per_batch:
        raise UserError(
            f"A batch takes P = {classes_per_batch} classes; the training images have {len(classes)}: "
            f"use classes_per_batch ≤ {len(classes)}."
        )
    if counts.min() < images_per_class:
        scarce = classes[counts.argmin()]
        raise UserError(
            f"A batch takes K = {images_per_class} images of a class; class {scarce} has {counts.min()}: "
            f"use images_per_class ≤ {counts.min()}, or train on more images."
        )
    return [np.flatnonzero(labels == label) for label in classes]


def _repeat(epoch: Callable[[], np.ndarray]) -> Iterator[np.ndarray]:
    while True:
        yield from epoch()


def _schedule(needed: np.ndarray, classes_per_batch: int, rng: np.random.Generator) -> np.ndarray:
    """Return which classes each batch takes (batches × P): all different, class c in at least `needed[c]` batches.

    The fewest batches that can do it.
    """
    batches = max(needed.max(), -(-needed.sum() // classes_per_batch))
    if classes_per_batch == len(needed):
        return np.tile(np.arange(len(needed)), (batches, 1))
    turns = _fill_remaining(needed, batches * classes_per_batch - needed.sum(), batches, rng)
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


def _fill_remaining(turns: np.ndarray, spare: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Hand out `spare` further turns, one a class and round, to classes that have less than `most`."""
    turns = turns.copy()
    while spare:
        chosen = rng.permutation(np.flatnonzero(turns < most))[:spare]
        turns[chosen] += 1
        spare -= len(chosen)
    return turns
