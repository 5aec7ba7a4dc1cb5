"""Data sets as NumPy arrays: loaded from disk or downloaded, and validated. No torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS, DatasetSpec
from dmlviz.data import download, idx
from dmlviz.errors import DataUnavailableError, UserError
from dmlviz.storage.arrays import read_arrays
from dmlviz.storage.paths import cache_dir, data_root

__all__ = [
    "Dataset",
    "Split",
    "available_datasets",
    "cache_dir",
    "data_root",
    "download_dataset",
    "load",
    "stratified_subset",
]

Progress = Callable[[int, int], object]
"""Called with the bytes done, and the bytes in all."""


@dataclass(frozen=True, eq=False)
class Split:
    """Images (uint8, n × h × w or n × h × w × 3) and labels (int64, n), in the order of the data set."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int | None) -> "Split":
        """Return the first `count` images; all if None, or if there are fewer."""
        return Split(self.images[:count], self.labels[:count])

    def select_classes(self, classes: Sequence[int]) -> "Split":
        """Return the images of these classes."""
        selected = np.isin(self.labels, classes)
        return self if selected.all() else Split(self.images[selected], self.labels[selected])


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
    """

    name: str
    classes: tuple[str, ...]
    train: Split
    test: Split
    mean: float
    std: float

    @property
    def size(self) -> int:
        """The shorter side of an image in pixels."""
        return int(min(self.test.images.shape[1:3]))

    @property
    def channels(self) -> int:
        """1 for gray images, 3 for color."""
        return 1 if self.test.images.ndim == 3 else int(self.test.images.shape[3])


def available_datasets(root: str | Path | None = None) -> list[str]:
    """Return the names of the data sets on disk, in catalog order, then custom ones."""
    folder = data_root(root)
    builtin = [name for name in DATASETS.builtin if not _missing_files(name, folder)]
    return [*builtin, *custom_datasets.list_names(folder)]


def download_dataset(name: str, root: str | Path | None = None, progress: Progress | None = None) -> None:
    """Download the missing files of a data set and verify their checksums; raise DataUnavailableError on failure."""
    _ = DATASETS[name]
    files = _missing_files(name, data_root(root))
    if files:
        source = download.SOURCES[name]
        try:
            download.download_dataset(source, data_root(root) / source.folder, files, progress)
        except DataUnavailableError as error:
            available = " and ".join(available_datasets(root))
            raise DataUnavailableError(
                f"{DATASETS[name].title} is not on disk. {error} Available now: {available}."
            ) from None


def load(name: str, root: str | Path | None = None, progress: Progress | None = None) -> Dataset:
    """Load a data set, and download missing files.

    Args:
        name: Name in the catalog.
        root: Folder of the data sets; the default one if None.
        progress: Called with the bytes downloaded, and the bytes in all.

    Raises:
        UserError: For an unknown name.
        DataUnavailableError: If files cannot be downloaded or are invalid.

    Example:
        >>> load("digits").train.images.shape
        (1201, 8, 8)
    """
    download_dataset(name, root, progress)
    spec = DATASETS[name]
    if custom_datasets.is_custom(name):
        train, test = _load_custom(name, data_root(root))
    elif name == "digits":
        train, test = _digits()
    elif name in DATASETS.plugged:
        train, test = _load_plugged(name, spec, data_root(root))
    else:
        source = download.SOURCES[name]
        folder = data_root(root) / source.folder
        train, test = (_idx_split(folder, part, spec) for part in source.parts)
        if train.images.shape[1:] != test.images.shape[1:]:
            shapes = " and ".join(" × ".join(map(str, part.images.shape[1:])) for part in (train, test))
            raise DataUnavailableError(f"{folder} holds training and test images of different sizes: {shapes}.")
    return Dataset(name, spec.classes, train, test, spec.mean, spec.std)


def stratified_subset(labels: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Sample indices from every class in proportion to its size; a smaller sample is part of a larger one.

    Args:
        labels: n class ids.
        count: Size of the sample; all indices if not below n.
        seed: Seed of the sample.

    Returns:
        Ascending indices (int64).

    Example:
        >>> len(stratified_subset(np.array([0, 0, 0, 0, 1, 1]), 3))
        3
    """
    labels = np.asarray(labels)
    if count >= len(labels):
        return np.arange(len(labels))
    if count < 1:
        raise UserError(f"Watch at least 1 image; got {count}.")
    # Spread each class evenly over [0, 1) in random order, then take the first `count` of all.
    order = np.random.default_rng(seed).permutation(len(labels))
    position = np.empty(len(labels))
    for label in np.unique(labels):
        members = order[labels[order] == label]
        position[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.sort(np.argsort(position, kind="stable")[:count]).astype(np.int64)


def _missing_files(name: str, root: Path) -> list[str]:
    source = download.SOURCES.get(name)
    return [] if source is None else [file for file in source.files if idx.find(root / source.folder, file) is None]


def _load_custom(name: str, root: Path) -> tuple[Split, Split]:
    arrays = custom_datasets.load_arrays(root, name)
    train, test = (
        Split(np.array(arrays[f"{part}_images"]), np.array(arrays[f"{part}_labels"], np.int64))
        for part in custom_datasets.PARTS
    )
    return train, test


def _load_plugged(name: str, spec: DatasetSpec, root: Path) -> list[Split]:
    """What the plug-in's function gives, held against its spec."""
    splits = []
    for images, labels in DATASETS.plugged[name](root):
        split = Split(np.asarray(images), np.asarray(labels, np.int64))
        shape = (spec.size, spec.size) + (() if spec.channels == 1 else (spec.channels,))
        in_range = len(labels) and split.labels.min() >= 0 and split.labels.max() < len(spec.classes)
        if split.images.dtype != np.uint8 or split.images.shape != (len(labels), *shape) or not in_range:
            raise DataUnavailableError(
                f"The data set {name} is declared as uint8 images of shape {shape} with labels 0 to "
                f"{len(spec.classes) - 1}; its plug-in gave {split.images.dtype} of shape {split.images.shape}, "
                f"labels {split.labels.min(initial=0)} to {split.labels.max(initial=0)}: correct one of the two."
            )
        splits.append(split)
    return splits


def _idx_split(folder: Path, part: str, spec: DatasetSpec) -> Split:
    paths = [idx.find(folder, f"{part}-{kind}") for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    if paths[0] is None or paths[1] is None:  # deleted after the download
        raise DataUnavailableError(f"{folder} has no {part} images or no {part} labels.")
    images, labels = idx.read(paths[0], 3), idx.read(paths[1], 1)
    if len(images) != len(labels):
        raise DataUnavailableError(f"{folder}: {len(images):,} {part} images but {len(labels):,} labels. {idx.HINT}")
    if len(images) == 0:
        raise DataUnavailableError(f"{folder}: the {part} split holds no image. {idx.HINT}")
    first, last = spec.first_label, spec.first_label + len(spec.classes) - 1
    outside = labels[(labels < first) | (labels > last)]
    if len(outside):
        raise DataUnavailableError(
            f"{paths[1]} holds the label {outside[0]}; labels run from {first} to {last}. {idx.HINT}"
        )
    if spec.transposed:
        images = np.ascontiguousarray(images.swapaxes(1, 2))
    return Split(images, labels.astype(np.int64) - first)


def _digits() -> tuple[Split, Split]:
    arrays = read_arrays(Path(__file__).parent / "digits.npz")
    levels, labels = arrays["images"], arrays["labels"].astype(np.int64)
    images = np.rint(levels * (255 / 16)).astype(np.uint8)  # the pixels come in 17 levels
    # The original has no split: every third image of each class is a test image.
    rank = np.zeros(len(labels), np.int64)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        rank[members] = np.arange(len(members))
    test = rank % 3 == 2
    return Split(images[~test], labels[~test]), Split(images[test], labels[test])
