"""Data sets as NumPy arrays: loaded from disk or downloaded, and validated. No torch."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_sources import CONTENT, SOURCES
from dmlviz.catalog.dataset_spec import Recipe
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import download, idx, made
from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.known_content import keras_file
from dmlviz.data.loaders import load_splits
from dmlviz.errors import DataUnavailableError, UserError
from dmlviz.storage.paths import cache_dir, data_root

__all__ = [
    "Dataset",
    "Split",
    "available_datasets",
    "cache_dir",
    "data_root",
    "dataset_note",
    "download_dataset",
    "load",
    "num_test_images",
    "num_train_images",
    "stratified_subset",
]

Progress = Callable[[int, int], object]
"""Called with the bytes done, and the bytes in all."""


def available_datasets(root: str | Path | None = None) -> list[str]:
    """Return the names of the data sets on disk or made from those, in catalog order, then custom ones.

    Args:
        root: Folder of the data sets; the default one if None.

    Examples:
        >>> "digits" in available_datasets()
        True
    """
    folder = data_root(root)
    builtin = [name for name in DATASETS.builtin if _is_available(name, folder)]
    return [*builtin, *custom_datasets.list_names(folder)]


def download_dataset(name: str, root: str | Path | None = None, progress: Progress | None = None) -> None:
    """Download the missing files of a data set, or of the one that it is made from, and verify their checksums.

    Args:
        name: Name in the catalog.
        root: Folder of the data sets; the default one if None.
        progress: Called with the bytes downloaded, and the bytes in all.

    Raises:
        DataUnavailableError: On failure.

    Examples:
        >>> download_dataset("digits")
    """
    recipe = DATASETS[name].recipe
    if recipe is not None:
        if not _is_available(name, data_root(root)):
            download_dataset(recipe.sources[0], root, progress)
        return
    files = _missing_files(name, data_root(root))
    if files:
        source = SOURCES[name]
        try:
            download.download_dataset(source, data_root(root) / source.folder, files, progress)
        except DataUnavailableError as error:
            available = ", ".join(name for name in available_datasets(root) if DATASETS[name].recipe is None)
            first, folder = next(iter(source.files)), data_root(root) / source.folder
            keras = ", or the npz file of Keras" if name in CONTENT else ""
            raise DataUnavailableError(
                f"{DATASETS[name].title} is not on disk. {error} Or put its files into {folder}: "
                f"{', '.join(source.files)}, plain, .gz or .npz, also named as {first.replace('-idx', '.idx')}{keras}; "
                f"or add them with dmlviz data add, or Choose files… on the page. Available now: {available}."
            ) from None


def load(name: str, root: str | Path | None = None, progress: Progress | None = None) -> Dataset:
    """Return a data set; download missing files, or make the images from those of another data set.

    Args:
        name: Name in the catalog.
        root: Folder of the data sets; the default one if None.
        progress: Called with the bytes downloaded, and the bytes in all.

    Raises:
        UserError: For an unknown name.
        DataUnavailableError: If files cannot be downloaded or are invalid.

    Examples:
        >>> load("digits").train.images.shape
        (1201, 8, 8)
    """
    download_dataset(name, root, progress)
    spec, folder = DATASETS[name], data_root(root)
    if spec.recipe is not None:
        return made.load(spec, _source(spec.recipe, folder), folder)
    train, test = load_splits(spec, folder)
    return Dataset(name, spec.classes, train, test, spec.mean, spec.std)


def num_train_images(name: str, root: str | Path | None = None) -> int:
    """Return the number of training images of a data set; of a person's own without reading the images.

    Args:
        name: Name in the catalog.
        root: Folder of the data sets; the default one if None.

    Examples:
        >>> num_train_images("digits")
        1201
    """
    if custom_datasets.is_custom(name):
        return len(custom_datasets.load_arrays(data_root(root), name)["train_labels"])
    return len(labeled(name, data_root(root)).train)


def num_test_images(name: str, root: str | Path | None = None) -> int:
    """Return the number of test images of a data set; see `num_train_images`.

    Args:
        name: Name in the catalog.
        root: Folder of the data sets; the default one if None.

    Examples:
        >>> num_test_images("digits")
        596
    """
    if custom_datasets.is_custom(name):
        return len(custom_datasets.load_arrays(data_root(root), name)["test_labels"])
    return len(labeled(name, data_root(root)).test)


@lru_cache(maxsize=16)
def labeled(name: str, root: Path) -> Dataset:
    """Return a data set with its labels in place of the images, to be counted: the images are read and let go.

    Args:
        name: Name in the catalog.
        root: Folder of the data sets.

    Examples:
        >>> labeled("digits", data_root()).test.images.shape
        (596,)
    """
    dataset = load(name, root)
    train, test = (Split(part.labels, part.labels) for part in (dataset.train, dataset.test))
    return replace(dataset, train=train, test=test)


def train_labels(name: str, root: Path) -> Dataset | None:
    """Return a data set with its training labels in place of all images; None where only its making tells them."""
    if (spec := DATASETS[name]).recipe is None:
        return labeled(name, root)
    if (labels := made.train_labels(spec, _source(spec.recipe, root), root)) is None:
        return None
    return Dataset(name, spec.classes, part := Split(labels, labels), part, spec.mean, spec.std)


def dataset_note(name: str, root: str | Path | None = None) -> str:
    """Return what to know of a data set before choosing it: a download, or what it is made from; empty for most.

    Args:
        name: Name in the catalog.
        root: Folder of the data sets; the default one if None.

    Examples:
        >>> import tempfile
        >>> dataset_note("mnist", tempfile.mkdtemp())
        'Downloaded when first used.'
    """
    spec, folder = DATASETS[name], data_root(root)
    if name in DATASETS.builtin and not _is_available(name, folder):
        if spec.recipe is None:
            return "Downloaded when first used."
        return f"Made from {DATASETS[spec.recipe.sources[0]].title}, which is downloaded when first used."
    return "" if spec.recipe is None else made.note(spec, _source(spec.recipe, folder))


def stratified_subset(labels: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Sample indices from every class in proportion to its size; a smaller sample is part of a larger one.

    Args:
        labels: Class IDs (n).
        count: Size of the sample; all indices if not below n.
        seed: Seed of the sample.

    Returns:
        Ascending indices (int64).

    Raises:
        UserError: For a count below 1.

    Examples:
        >>> len(stratified_subset(np.array([0, 0, 0, 0, 1, 1]), 3))
        3
    """
    labels = np.asarray(labels)
    if count >= len(labels):
        return np.arange(len(labels))
    if count < 1:
        raise UserError(f"A subset has at least 1 image; got {count}: ask for 1 or more.")
    # Spread each class evenly over [0, 1) in random order, then take the first `count` of all.
    order = np.random.default_rng(seed).permutation(len(labels))
    position = np.empty(len(labels))
    for label in np.unique(labels):
        members = order[labels[order] == label]
        position[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.sort(np.argsort(position, kind="stable")[:count]).astype(np.int64)


def _is_available(name: str, root: Path) -> bool:
    recipe = DATASETS[name].recipe
    if recipe is not None:
        return any(_is_available(source, root) for source in recipe.sources)
    return not _missing_files(name, root)


def _source(recipe: Recipe, root: Path) -> str:
    """Return the name of the data set to make another one from: the best that is on disk."""
    return next((source for source in recipe.sources if _is_available(source, root)), recipe.sources[0])


def _missing_files(name: str, root: Path) -> list[str]:
    source = SOURCES.get(name)
    missing = [] if source is None else [file for file in source.files if idx.find(root / source.folder, file) is None]
    return missing if missing and keras_file(root, name) is None else []


def __dir__() -> list[str]:
    return [*__all__]
