"""A data set in memory: its images and labels, to train on and to test on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Split:
    """Images (uint8, n × h × w or n × h × w × 3) and labels (int64, n), in the order of the data set.

    `roles` holds what else is known of each image, by name: whole numbers (n), for instance its camera. `features` (n ×
    d, float16) is what a net takes instead of the images, if a backbone has computed them.

    Examples:
        >>> split = Split(np.zeros((5, 8, 8), np.uint8), np.array([0, 1, 2, 1, 0]))
        >>> len(split.first(3)), split.select([1, 4]).labels, split.select_classes([1, 2]).labels
        (3, array([1, 0]), array([1, 2, 1]))
    """

    images: np.ndarray
    labels: np.ndarray
    roles: Mapping[str, np.ndarray] = field(default_factory=dict)
    features: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int | None) -> "Split":
        """Return the first images.

        Args:
            count: How many; all if None, or if there are fewer.
        """
        return self.select(slice(count))

    def select(self, rows: "np.ndarray | slice") -> "Split":
        """Return some of the images.

        Args:
            rows: Their indices, or a mask.
        """
        roles = {name: values[rows] for name, values in self.roles.items()}
        features = None if self.features is None else self.features[rows]
        return Split(self.images[rows], self.labels[rows], roles, features)

    def select_classes(self, classes: Sequence[int]) -> "Split":
        """Return the images of some classes.

        Args:
            classes: Class IDs.
        """
        mask = np.isin(self.labels, classes)
        return self if mask.all() else self.select(mask)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set with a training and a test split.

    Attributes:
        name: Name in the catalog.
        classes: Class names, by label.
        train: Training images.
        test: Test images.
        mean: Mean of the pixels, scaled to [0, 1].
        std: Standard deviation of the pixels, scaled to [0, 1].
        roles: By role of `Split.roles`, the names of its values.
        note: Notes on these images, beside the summary of the spec; mostly empty.
    """

    name: str
    classes: tuple[str, ...]
    train: Split
    test: Split
    mean: float
    std: float
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    note: str = ""

    @property
    def size(self) -> int:
        """The shorter side of an image in pixels."""
        return int(min(self.test.images.shape[1:3]))

    @property
    def channels(self) -> int:
        """1 for gray images, 3 for color."""
        return 1 if self.test.images.ndim == 3 else int(self.test.images.shape[3])
