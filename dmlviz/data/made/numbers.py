"""`numbers`: two handwritten digits side by side, 00 to 99, a hundred classes."""

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made.pixels import enlarge

NUMBERS = DATASETS["numbers"].classes
SEED = 0
TRAIN_PER_CLASS = 320
TEST_PER_CLASS = 40


def build(source: Dataset) -> tuple[Split, Split]:
    """Put digits side by side, each squeezed to half its width; training digits stay training digits."""
    rng = np.random.default_rng(SEED)
    train, test = enlarge(source)
    return _pairs(train, TRAIN_PER_CLASS, rng), _pairs(test, TEST_PER_CLASS, rng)


def _pairs(digits: Split, per_class: int, rng: np.random.Generator) -> Split:
    pixels = digits.images.astype(np.uint16)
    half = ((pixels[:, :, 0::2] + pixels[:, :, 1::2] + 1) // 2).astype(np.uint8)
    members = [np.flatnonzero(digits.labels == digit) for digit in range(10)]
    images = np.empty((len(NUMBERS), per_class, *digits.images.shape[1:]), np.uint8)
    for label, number in enumerate(NUMBERS):
        left, right = (_draw(members[int(digit)], per_class, rng) for digit in number)
        images[label] = np.concatenate([half[left], half[right]], axis=2)
    # Class after class would put the last classes out of reach of `max_train_images`: one of each class in turn.
    labels = np.tile(np.arange(len(NUMBERS)), per_class)
    return Split(np.ascontiguousarray(images.swapaxes(0, 1)).reshape(-1, *images.shape[2:]), labels)


def _draw(members: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw images of a digit, none twice before each was drawn once."""
    rounds = [rng.permutation(members) for _ in range(-(-count // len(members)))]
    return np.concatenate(rounds)[:count]
