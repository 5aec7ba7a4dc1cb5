"""Batch samplers: endless iterators of index arrays.

An epoch visits every image at least once, with one permutation of each class (or of the set) per epoch; episodes are
independent random draws.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from torch import Tensor

from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.catalog.parameters import Registry
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.losses.hierarchical import class_distances
from dmlviz.training.validation_split import misfit

registry = Registry(SAMPLERS)
GROUP = 5  # classes of an anchor-neighbor group: the anchor and the four nearest to it


def build(config: TrainConfig, labels: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Return the endless batches of a config; equal arguments give equal batches.

    Args:
        config: The settings.
        labels: Classes of the training images (n).
        seed: Seed of the random numbers.

    Returns:
        An iterator of int64 indices into `labels`, one array per batch.

    Raises:
        UserError: If the images are too few for such batches.
    """
    if sentence := misfit(config, labels):
        raise UserError(sentence)
    batches: Iterator[np.ndarray] = registry[config.sampler](config, np.asarray(labels), np.random.default_rng(seed))
    return _check(batches, config, len(labels)) if config.sampler in SAMPLERS.plugged else batches


def _check(batches: Iterator[Any], config: TrainConfig, n: int) -> Iterator[np.ndarray]:
    """Yield a plug-in's batches; raise UserError for one of another size or with invalid indices."""
    for indices in batches:
        batch = np.asarray(indices)
        whole = batch.ndim == 1 and np.issubdtype(batch.dtype, np.integer)
        if not whole or len(batch) != config.effective_batch_size or batch.min() < 0 or batch.max() >= n:
            raise UserError(
                f"The sampler {config.sampler} must yield {config.effective_batch_size} indices from 0 to {n - 1}; got "
                f"{batch.dtype} of shape {batch.shape}: correct the plug-in."
            )
        yield batch.astype(np.int64)
    raise UserError(f"The sampler {config.sampler} must yield batches endlessly; it ended: correct the plug-in.")


@registry.register("balanced")
def _balanced(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return balanced(labels, config.classes_per_batch, config.images_per_class, rng)


@registry.register("shuffled")
def _shuffled(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return shuffled(len(labels), config.batch_size, rng)


@registry.register("square_root")
@registry.register("class_balanced")
def _by_class_size(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return by_class_size(labels, config.batch_size, config.sampler_spec.class_power or 0.0, rng)


@registry.register("episodes")
def _episodes(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return episodes(labels, config.classes_per_batch, config.images_per_class, rng)


@registry.register("anchor_neighbor")
def _anchor_neighbor(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return AnchorNeighbor(labels, config.classes_per_batch, config.images_per_class, rng)


@registry.register("random_pairs")
def _random_pairs(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return random_pairs(labels, config.batch_size // 2, rng)


@registry.register("random_triplets")
def _random_triplets(config: TrainConfig, labels: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    return random_triplets(labels, config.batch_size // 3, rng)


def balanced(
    labels: np.ndarray, classes_per_batch: int, images_per_class: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield batches of P classes with K different images each, ordered by class.

    A class appears in as many batches as its images need: with P below the number of classes, larger classes appear
    more often; otherwise smaller classes repeat.
    """
    members = _indices_by_class(labels)
    return _repeat(lambda: balanced_epoch(members, classes_per_batch, images_per_class, rng))


def balanced_epoch(
    members: list[np.ndarray], classes_per_batch: int, images_per_class: int, rng: np.random.Generator
) -> np.ndarray:
    """Return one epoch (batches × P·K); `members` are the image indices of each class, at least K."""
    counts = np.array([-(-len(images) // images_per_class) for images in members])
    schedule = _schedule(counts, classes_per_batch, rng)
    epoch = np.empty((*schedule.shape, images_per_class), np.int64)
    for label, images in enumerate(members):
        turns = schedule == label
        # Repeated cyclically, a permutation of at least K images has no duplicate within K.
        epoch[turns] = np.resize(rng.permutation(images), (turns.sum(), images_per_class))
    return epoch.reshape(len(epoch), -1)


def shuffled(count: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield batches of different images; the last batch of an epoch is filled up with the epoch's first images."""
    return _repeat(lambda: _shuffled_rows(count, batch_size, rng))


def by_class_size(labels: np.ndarray, batch_size: int, power: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield batches of images each of a random class, drawn with p ∝ n^power by its n images (Kang et al. 2020, eq. 1).

    A class gives its images in random order, and anew once all were given: so one may be in a batch twice.
    """
    members = _indices_by_class(labels)
    weights = np.array([len(images) for images in members], float) ** power
    left: list[list[int]] = [[] for _ in members]
    while True:
        batch = np.empty(batch_size, np.int64)
        for row, label in enumerate(rng.choice(len(members), batch_size, p=weights / weights.sum())):
            left[label] = left[label] or rng.permutation(members[label]).tolist()
            batch[row] = left[label].pop()
        yield batch


def episodes(
    labels: np.ndarray, classes_per_batch: int, images_per_class: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield batches of P random classes with K different random images each, ordered by class, independent draws."""
    members = _indices_by_class(labels)

    def episode() -> np.ndarray:
        classes = rng.choice(len(members), classes_per_batch, replace=False)
        return np.concatenate([rng.choice(members[label], images_per_class, replace=False) for label in classes])

    return _repeat(lambda: episode()[None])


class AnchorNeighbor(Iterator[np.ndarray]):
    """Batches of classes that are near each other: random anchor classes, each with its nearest (Ge et al. 2018).

    Groups of `GROUP` classes (the last of fewer) fill a batch of P classes with K random images each, ordered by class.
    Before `refresh` has set the distances of the classes, neighbors are random.
    """

    every = 1

    def __init__(
        self, labels: np.ndarray, classes_per_batch: int, images_per_class: int, rng: np.random.Generator
    ) -> None:
        self.members = _indices_by_class(labels)
        self.classes_per_batch, self.images_per_class, self.rng = classes_per_batch, images_per_class, rng
        self.distances: np.ndarray | None = None

    def refresh(self, embeddings: Tensor, labels: Tensor) -> None:
        """Measure the distances of the classes in the space of now."""
        self.distances = class_distances(embeddings, labels).cpu().numpy()

    def __next__(self) -> np.ndarray:
        left = self.rng.permutation(len(self.members)).tolist()
        labels: list[int] = []
        while len(labels) < self.classes_per_batch:
            anchor = left[0]
            if self.distances is not None:
                left.sort(key=lambda label: -1 if label == anchor else self.distances[anchor, label])
            size = min(GROUP, self.classes_per_batch - len(labels))
            labels += left[:size]
            left = self.rng.permutation(left[size:]).tolist()
        images = [self.rng.choice(self.members[label], self.images_per_class, replace=False) for label in labels]
        return np.concatenate(images)


def random_pairs(labels: np.ndarray, pairs: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield batches of pairs, images 2i and 2i + 1: each image in turn with a random one, of its class if i is even.

    The batches of a classic siamese net: no mining, half of the pairs positive.
    """
    sampler = _PairSampler(labels)

    def epoch() -> np.ndarray:
        anchors = _shuffled_rows(len(labels), pairs, rng)
        others = np.where(np.arange(pairs) % 2 == 0, sampler.positive(anchors, rng), sampler.negative(anchors, rng))
        return np.stack([anchors, others], axis=-1).reshape(len(anchors), -1)

    return _repeat(epoch)


def random_triplets(labels: np.ndarray, triplets: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield batches of triplets, images 3i, 3i + 1, 3i + 2: each image in turn, random positive, random negative."""
    sampler = _PairSampler(labels)

    def epoch() -> np.ndarray:
        anchors = _shuffled_rows(len(labels), triplets, rng)
        rows = [anchors, sampler.positive(anchors, rng), sampler.negative(anchors, rng)]
        return np.stack(rows, axis=-1).reshape(len(anchors), -1)

    return _repeat(epoch)


class _PairSampler:
    """Draws a random positive (another image of the class) or negative for each anchor, uniformly."""

    def __init__(self, labels: np.ndarray) -> None:
        _, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
        self.order = np.argsort(index, kind="stable")  # all images, ordered by class
        self.position = np.argsort(self.order)
        self.start = (np.cumsum(counts) - counts)[index]
        self.count = counts[index]

    def positive(self, anchors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        start, count = self.start[anchors], self.count[anchors]
        positives: np.ndarray = self.order[start + (self.position[anchors] - start + rng.integers(1, count)) % count]
        return positives

    def negative(self, anchors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        start, count = self.start[anchors], self.count[anchors]
        position = rng.integers(0, len(self.order) - count)
        negatives: np.ndarray = self.order[position + count * (position >= start)]
        return negatives


def _shuffled_rows(count: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Return a permutation of `count` in rows of `width`; the last row is filled up from the first."""
    return np.resize(rng.permutation(count), (-(-count // width), width))


def _indices_by_class(labels: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _repeat(epoch: Callable[[], np.ndarray]) -> Iterator[np.ndarray]:
    while True:
        yield from epoch()


def _schedule(counts: np.ndarray, classes_per_batch: int, rng: np.random.Generator) -> np.ndarray:
    """Return the classes of each batch (batches × P), with the fewest batches possible.

    All classes of a batch differ, and class c is in at least `counts[c]` batches.
    """
    batches = max(counts.max(), -(-counts.sum() // classes_per_batch))
    if classes_per_batch == len(counts):
        return np.tile(np.arange(len(counts)), (batches, 1))
    turns = _fill_remaining(counts, batches * classes_per_batch - counts.sum(), batches, rng)
    schedule = np.empty((batches, classes_per_batch), np.int64)
    for batch in range(batches):
        # Draw without replacement in proportion to the remaining turns (Gumbel's trick), but first the classes that
        # must be in every remaining batch: so all turns fit, and no class appears twice in a batch.
        with np.errstate(divide="ignore"):
            score = np.log(turns) + rng.gumbel(size=len(turns))
        score[turns == batches - batch] = np.inf
        schedule[batch] = np.argpartition(score, -classes_per_batch)[-classes_per_batch:]
        turns[schedule[batch]] -= 1
    return schedule


def _fill_remaining(turns: np.ndarray, spare: int, max_turns: int, rng: np.random.Generator) -> np.ndarray:
    """Distribute `spare` more turns, one per class and round, to classes with fewer than `max_turns`."""
    turns = turns.copy()
    while spare:
        receivers = rng.permutation(np.flatnonzero(turns < max_turns))[:spare]
        turns[receivers] += 1
        spare -= len(receivers)
    return turns
