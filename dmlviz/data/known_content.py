"""MNIST and Fashion-MNIST as their pixels and labels tell them, whatever their files are called; the file of Keras."""

import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import numpy as np

from dmlviz.catalog.dataset_sources import CONTENT, SOURCES
from dmlviz.data.idx import UINT8
from dmlviz.errors import DamagedFileError
from dmlviz.storage.arrays import read_arrays

Key = tuple[str, str]  # part and kind: train or test, images or labels

KERAS: dict[str, Key] = {
    "x_train": ("train", "images"),
    "y_train": ("train", "labels"),
    "x_test": ("test", "images"),
    "y_test": ("test", "labels"),
}
_MEDMNIST: dict[str, Key] = {
    f"{of}_{kind}": (part, kind)
    for kind in ("images", "labels")
    for of, part in (("train", "train"), ("test", "test"), ("val", "test"))
}
_NAME = re.compile(r"[\w. -]*mnist[\w. -]*\.npz", re.IGNORECASE)


def name_of(arrays: Mapping[Key, np.ndarray]) -> str:
    """Return the data set of the catalog that has these pixels (uint8) and labels; empty for any other."""
    digests = {key: hashlib.md5(idx_bytes(array), usedforsecurity=False).hexdigest() for key, array in arrays.items()}
    for name, known in CONTENT.items():
        if set(digests) == set(known) and all(digest in known[key] for key, digest in digests.items()):
            return name
    return ""


def idx_bytes(array: np.ndarray) -> bytes:
    """Return the content of an IDX file of images or labels."""
    return bytes([0, 0, UINT8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.astype("u1").tobytes()


def is_keras(file: Path | bytes) -> bool:
    """Return whether a file, or its content, is an npz archive with the arrays of Keras or MedMNIST."""
    try:
        with zipfile.ZipFile(BytesIO(file) if isinstance(file, bytes) else file) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()} in ({*KERAS}, {*_MEDMNIST})
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def read_keras(path: Path) -> dict[Key, np.ndarray]:
    """Return the arrays of such a file; labels of a column are a row, gray images have no axis for color.

    Images to validate on (val) follow those to test on.

    Raises:
        DamagedFileError: For a damaged file.
    """
    arrays: dict[Key, np.ndarray] = {}
    for name, array in sorted(read_arrays(path).items()):
        key = (KERAS | _MEDMNIST)[name]
        array = array.squeeze(axis=-1) if array.shape[1:] and array.shape[-1] == 1 else array
        if key in arrays and arrays[key].shape[1:] != array.shape[1:]:
            raise DamagedFileError(path, f"{name} has the shape {array.shape}")
        arrays[key] = np.concatenate((arrays[key], array)) if key in arrays else array
    return arrays


def keras_file(root: Path, name: str) -> Path | None:
    """Return the file in a data folder that holds this data set as Keras has it: its content decides, not its name."""
    return next(
        (path for path in _candidates(root, name) if _name_of_file(path, path.stat().st_mtime_ns) == name), None
    )


def _candidates(root: Path, name: str) -> Iterator[Path]:
    if name in CONTENT:
        folder = root / SOURCES[name].folder
        for place in (folder, folder.parent, root):
            if place.is_dir():
                yield from (
                    path for path in sorted(place.glob("*.npz")) if _NAME.fullmatch(path.name) and is_keras(path)
                )


@lru_cache(maxsize=16)
def _name_of_file(path: Path, _changed: int) -> str:
    try:
        return name_of(read_keras(path))
    except DamagedFileError:
        return ""
