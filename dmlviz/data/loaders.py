"""Loads each data set: one function for each spec; those of plug-ins and people's own too. No torch."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from dmlviz.catalog import custom_datasets
from dmlviz.catalog.custom_datasets import PARTS
from dmlviz.catalog.dataset_sources import SOURCES
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.parameters import Registry
from dmlviz.data import idx
from dmlviz.data.columns import column_numbers, describe_columns, read_columns
from dmlviz.data.dataset import Split
from dmlviz.data.known_content import keras_file, read_keras
from dmlviz.errors import DataUnavailableError
from dmlviz.ops.dots import draw_dots
from dmlviz.storage.arrays import read_array, read_arrays

LOADERS = Registry(DATASETS)  # functions of spec and data folder; a plug-in's take the folder only


def load_splits(spec: DatasetSpec, root: Path) -> tuple[Split, Split]:
    """Return training and test images of a data set whose files are there; raise DataUnavailableError otherwise."""
    if custom_datasets.is_custom(spec.name):
        return _custom(spec.name, root)
    if spec.name in DATASETS.plugged:
        return _from_plugin(spec.name, spec, root)
    splits: tuple[Split, Split] = LOADERS[spec.name](spec, root)
    return splits


def _custom(name: str, root: Path) -> tuple[Split, Split]:
    arrays = custom_datasets.load_arrays(root, name)
    train, test = (
        Split(
            np.array(arrays[f"{part}_images"]),
            np.array(arrays[f"{part}_labels"], np.int64),
            _roles(root, name, part),
            _features(root, name, part),
        )
        for part in custom_datasets.PARTS
    )
    return train, test


def _features(root: Path, name: str, part: str) -> np.ndarray | None:
    """Return the features of each image that a backbone made, if the net takes features."""
    spec = DATASETS[name].features
    if spec is None:
        return None
    path = root / custom_datasets.FOLDER / name / custom_datasets.features_file(part)
    features = read_array(path, "f", (None, spec.dimensions))
    if features is None:
        raise DataUnavailableError(f"{path} is missing: compute the features again with dmlviz data features.")
    return np.array(features)


def _roles(root: Path, name: str, part: str) -> dict[str, np.ndarray]:
    """Return the roles of each image from the further columns of a data set: its camera, and whether it is a query."""
    table = read_columns(root / custom_datasets.FOLDER / name / custom_datasets.columns_file(part))
    if table is None:
        return {}
    columns = {column.name.lower(): column for column in describe_columns(table)}
    roles = {}
    if "camera" in columns and columns["camera"].kind != "text":
        numbers = column_numbers(table, columns["camera"])
        roles["camera"] = np.nan_to_num(numbers, nan=-1).astype(np.int64)
    if "split" in columns and "query" in columns["split"].values:
        codes = column_numbers(table, columns["split"])
        roles["query"] = (codes == columns["split"].values.index("query")).astype(np.int64)
    return roles


def _from_plugin(name: str, spec: DatasetSpec, root: Path) -> tuple[Split, Split]:
    """Return the data set of a plug-in's function, checked against its spec."""
    splits = []
    for images, labels in LOADERS[name](root):
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
    train, test = splits
    return train, test


def idx_splits(spec: DatasetSpec, root: Path) -> tuple[Split, Split]:
    """Read a downloaded data set, whose files are in the IDX format, or the file that Keras has of it."""
    source = SOURCES[spec.name]
    folder = root / source.folder
    if any(idx.find(folder, file) is None for file in source.files) and (file := keras_file(root, spec.name)):
        arrays = read_keras(file)
        train, test = (Split(arrays[part, "images"], arrays[part, "labels"].astype(np.int64)) for part in PARTS)
        return train, test
    train, test = (_idx_split(folder, part, spec) for part in source.parts)
    if train.images.shape[1:] != test.images.shape[1:]:
        shapes = " and ".join(" × ".join(map(str, part.images.shape[1:])) for part in (train, test))
        raise DataUnavailableError(
            f"Training and test images have one size; {folder} holds {shapes}: delete the folder to download it again."
        )
    return train, test


for _name in SOURCES:
    LOADERS.register(_name)(idx_splits)


def _idx_split(folder: Path, part: str, spec: DatasetSpec) -> Split:
    paths = [idx.find(folder, f"{part}-{kind}") for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    if paths[0] is None or paths[1] is None:  # deleted after the download
        raise DataUnavailableError(
            f"{folder} has no {part} images or no {part} labels: load the data set again to download them."
        )
    images, labels = idx.read(paths[0], 3), idx.read(paths[1], 1)
    if len(images) != len(labels):
        raise DataUnavailableError(f"{folder}: {len(images):,} {part} images but {len(labels):,} labels. {idx.HINT}")
    if len(images) == 0:
        raise DataUnavailableError(f"{folder}: the {part} split holds no image. {idx.HINT}")
    first, last = spec.first_label, spec.first_label + len(spec.classes) - 1
    outside = labels[(labels < first) | (labels > last)]
    if len(outside):
        raise DataUnavailableError(f"Labels run from {first} to {last}; {paths[1]} holds {outside[0]}. {idx.HINT}")
    if spec.transposed:
        images = np.ascontiguousarray(images.swapaxes(1, 2))
    return Split(images, labels.astype(np.int64) - first)


@LOADERS.register("digits")
def digits(spec: DatasetSpec, root: Path) -> tuple[Split, Split]:
    """Read the digits that come with the program."""
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


TRAIN, TEST = 1200, 600  # points of a shape
Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def shape(name: str) -> Callable[[Draw], Draw]:
    """Register a function from labels to points of the plane; scikit-learn's would load SciPy into the server."""

    def register(draw: Draw) -> Draw:
        def load(spec: DatasetSpec, root: Path) -> tuple[Split, Split]:
            rng, labels = np.random.default_rng(0), [np.arange(count) % len(spec.classes) for count in (TRAIN, TEST)]
            train, test = (Split(draw_dots(draw(one, rng).clip(-1, 1)), one) for one in labels)
            return train, test

        LOADERS.register(name)(load)
        return draw

    return register


@shape("moons")
def _moons(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    angle, sign = np.pi * rng.random(len(label)), 1 - 2 * label
    moon = np.stack([np.cos(angle) - 0.5, np.sin(angle) - 0.25], 1) * sign[:, None]
    moved: np.ndarray = 0.6 * (moon + 0.1 * rng.standard_normal(moon.shape))
    return moved


@shape("rings")
def _rings(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    radius = 0.3 * (label + 0.5) + 0.04 * rng.standard_normal(len(label))
    return _around(2 * np.pi * rng.random(len(label)), radius)


@shape("spirals")
def _spirals(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    along = np.sqrt(rng.uniform(0.02, 1, len(label)))
    places = _around(2 * np.pi * (label / 3 + along), 0.9 * along)
    return places + 0.025 * rng.standard_normal(places.shape)


@shape("blobs")
def _blobs(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return _around(np.pi * label / 3, np.full(len(label), 0.6)) + 0.11 * rng.standard_normal((len(label), 2))


def _around(angle: np.ndarray, radius: np.ndarray) -> np.ndarray:
    points: np.ndarray = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    return points
