"""What each labeled image went through while a net learned: easy, ambiguous or hard. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class TrainingDynamics:
    """The training dynamics of n images, NaN for the only image of its class.

    Attributes:
        confidence: The mean over the nets of the share of an image's nearest neighbors that have its label (n, 0 to 1).
        variability: The standard deviation of that share (n, 0 to .5).
        forgotten: How often an image had more neighbors of its label than others, and at the next net no more (n).
    """

    confidence: np.ndarray = field(repr=False)
    variability: np.ndarray = field(repr=False)
    forgotten: np.ndarray = field(repr=False)


def training_dynamics(neighbors: Sequence[np.ndarray], labels: np.ndarray) -> TrainingDynamics:
    """Return the training dynamics of images, as the nets of several steps embed them.

    The confidence of a classifier in the label of an image is its neighbors' here: the share of them with its label.
    Of an image whose class has m images the min(k, m − 1) nearest neighbors are counted.

    Args:
        neighbors: Indices of the k nearest others of each image (n × k each), by the nets in order.
        labels: Class IDs (n).

    Reference:
        Swayamdipta et al.: Dataset cartography, EMNLP 2020; Toneva et al.: An empirical study of example forgetting,
        ICLR 2019

    Examples:
        >>> found = training_dynamics([np.array([[1], [0], [0]]), np.array([[2], [0], [1]])], np.array([0, 0, 1]))
        >>> found.confidence.tolist(), found.forgotten.tolist()
        ([0.5, 1.0, nan], [1.0, 0.0, nan])
    """
    _, own, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    counted = np.arange(neighbors[0].shape[1]) < sizes[own][:, None] - 1
    total = np.where(sizes[own] > 1, counted.sum(axis=1), np.nan)
    shares = np.stack([((own[near] == own[:, None]) & counted).sum(axis=1) / total for near in neighbors])
    known = shares > 0.5
    forgotten = np.where(np.isnan(total), np.nan, (known[:-1] & ~known[1:]).sum(axis=0))
    return TrainingDynamics(shares.mean(axis=0), shares.std(axis=0), forgotten)


def spread(steps: Sequence[int], most: int) -> list[int]:
    """Return at most so many of the steps, evenly spread, the first and the last among them.

    Examples:
        >>> spread([0, 5, 9, 14, 20], 3), spread([], 3), spread([4], 3)
        ([0, 9, 20], [], [4])
    """
    places = np.linspace(0, len(steps) - 1, min(most, len(steps))).round().astype(int)
    return [steps[place] for place in places.tolist()]
