"""Data sets made from others: built once, seeded, kept in the data folder, the same on every machine. No torch.

A data set is made when its spec has a `recipe` (see dmlviz/catalog/specs.toml). The recipe's function takes the
data set that it is made from and returns a training and a test split; the rest follows from the spec.
"""

import contextlib
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.dataset import Dataset, Split
from dmlviz.errors import DamagedFileError
from dmlviz.storage.arrays import read_array
from dmlviz.storage.disk_space import new_folder
from dmlviz.storage.files import write_array

FOLDER = "made"
PARTS = ("train", "test")


def load(spec: DatasetSpec, source: str, root: Path) -> Dataset:
    """Load a made data set; build it first if it is not in the data folder.

    Args:
        spec: The data set, which has a recipe.
        source: Name of the data set that it is made from.
        root: The data folder.
    """
    folder = cache_folder(spec, source, root)
    splits = _read(spec, folder)
    if splits is None:
        splits = build(spec, source, root)
        _save(splits, folder)
    train, test = splits
    roles = {role: names or DATASETS[source].classes for role, names in spec.roles.items()}
    mean, std = spec.mean, spec.std
    if spec.recipe is not None and source != spec.recipe.sources[0]:  # the spec's are those of the best source
        mean, std = float(np.mean(train.images)) / 255, float(np.std(train.images)) / 255
    return Dataset(spec.name, spec.classes, train, test, mean, std, roles, note(spec, source))


def train_labels(spec: DatasetSpec, source: str, root: Path) -> np.ndarray | None:
    """Return the training labels without the images: those kept, or as the spec declares them; None for neither."""
    with contextlib.suppress(DamagedFileError):  # made again
        if (kept := read_array(cache_folder(spec, source, root) / "train_labels.npy", shape=None)) is not None:
            return np.array(kept)
    if spec.recipe is None or source != spec.recipe.sources[0]:  # the spec's are those of the best source
        return None
    laid = np.repeat if spec.class_split is not None and spec.class_split.disjoint else np.tile
    return laid(np.array(spec.trainable_classes), spec.most["images_per_class"])


def build(spec: DatasetSpec, source: str, root: Path) -> tuple[Split, Split]:
    """Make a data set from `source`, replacing an earlier one in the data folder."""
    from dmlviz import data

    assert spec.recipe is not None
    module, _, function = spec.recipe.build.partition(":")
    train, test = getattr(import_module(module), function)(data.load(source, root))
    for split in (train, test):
        assert set(split.roles) == set(spec.roles), f"{spec.recipe.build} gives the roles {sorted(split.roles)}"
        assert split.labels.max() < len(spec.classes), f"{spec.recipe.build} gives more classes than {spec.name} has"
    return train, test


def cache_folder(spec: DatasetSpec, source: str, root: Path) -> Path:
    """Return where a made data set is kept."""
    assert spec.recipe is not None
    return root / FOLDER / f"{spec.name}-{source}-{spec.recipe.version}"


def note(spec: DatasetSpec, source: str) -> str:
    """Return what the images are made from; empty where that is what the spec's summary says."""
    assert spec.recipe is not None
    best = spec.recipe.sources[0]
    if source == best:
        return ""
    return (
        f"Made from {DATASETS[source].title}, since {DATASETS[best].title} is not on disk; it is downloaded when you "
        "train on it."
    )


def _read(spec: DatasetSpec, folder: Path) -> tuple[Split, Split] | None:
    """Return what a folder holds; None where it holds nothing, or not all of it."""
    splits = []
    for part in PARTS:
        try:
            arrays = {
                name: read_array(folder / f"{part}_{name}.npy", shape=None)
                for name in ("images", "labels", *spec.roles)
            }
        except DamagedFileError:
            shutil.rmtree(folder, ignore_errors=True)  # made again
            return None
        columns = {name: np.array(values) for name, values in arrays.items() if values is not None}
        if len(columns) < len(arrays) or len({len(values) for values in columns.values()}) > 1:
            return None
        splits.append(Split(columns.pop("images"), columns.pop("labels"), columns))
    train, test = splits
    return train, test


def _save(splits: tuple[Split, Split], folder: Path) -> None:
    """Keep a data set, whole or not at all; where the data folder cannot be written, it is made anew each time."""
    with contextlib.suppress(OSError):  # a full disk, one to read only, or another process was faster
        folder.parent.mkdir(parents=True, exist_ok=True)
        with new_folder(folder.parent) as new:
            for part, split in zip(PARTS, splits, strict=True):
                for name, values in {"images": split.images, "labels": split.labels, **split.roles}.items():
                    write_array(new / f"{part}_{name}.npy", values)
            new.rename(folder)
