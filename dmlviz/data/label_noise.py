"""Training labels as a training sees them: corrected, and some of them wrong on purpose. No torch."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from dmlviz.config import TrainConfig
from dmlviz.data.corrections import corrected
from dmlviz.data.dataset import Dataset


def as_trained(data: Dataset, config: TrainConfig, root: Path) -> Dataset:
    """Return a data set with the training labels that a training of `config` sees; the test labels stay.

    Its corrections come first. Then `label_noise`, a share of the images of the training classes, get the label of
    another of these classes: the same images and labels for every seed, so that runs can be compared.

    Raises:
        DataUnavailableError: If the corrections are not on disk, or are of another data set.

    Example:
        >>> from dmlviz.data import data_root, load
        >>> digits, config = load("digits"), TrainConfig(dataset="digits", label_noise=0.2)
        >>> noisy = as_trained(digits, config, data_root())
        >>> float((noisy.train.labels != digits.train.labels).mean().round(2))
        0.2
    """
    data = corrected(data, config.corrections, root)
    if config.label_noise == 0:
        return data
    labels, classes = data.train.labels.copy(), np.array(config.train_classes)
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.flatnonzero(np.isin(labels, classes)))
    rows = rows[: round(config.label_noise * len(rows))]
    shifts = rng.integers(1, len(classes), len(rows))
    labels[rows] = classes[(np.searchsorted(classes, labels[rows]) + shifts) % len(classes)]
    return replace(data, train=replace(data.train, labels=labels))
