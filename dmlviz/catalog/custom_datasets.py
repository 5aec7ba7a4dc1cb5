"""Imported data sets: each a folder in the data folder, named after its content."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dmlviz.errors import DataUnavailableError, DiskFullError, UserError
from dmlviz.storage.arrays import read_array
from dmlviz.storage.disk_space import new_folder
from dmlviz.storage.files import ensure_dir, is_run_id, read_json, write_array, write_json

PREFIX = "custom-"
FOLDER = "own"
DESCRIBED = "dataset.json"
PARTS = ("train", "test")


def is_custom(name: object) -> bool:
    """Return whether this is the name of an imported data set: `custom-` and 16 hexadecimal digits."""
    return isinstance(name, str) and name.startswith(PREFIX) and is_run_id(name.removeprefix(PREFIX))


def list_names(root: Path) -> Iterator[str]:
    """Return the names of the imported data sets in a data folder, the oldest first."""
    paths = [path for path in (root / FOLDER).glob(f"{PREFIX}*/{DESCRIBED}") if is_custom(path.parent.name)]
    yield from (path.parent.name for path in sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path)))


def load_description(root: Path, name: str) -> dict[str, Any] | None:
    """Return the description that `keep` has stored; None if there is none."""
    description = read_json(root / FOLDER / name / DESCRIBED)
    return description if isinstance(description, dict) else None


def load_arrays(root: Path, name: str) -> dict[str, np.ndarray]:
    """{"train_images", "train_labels", "test_images", "test_labels"}, mapped from disk."""
    folder, arrays = root / FOLDER / name, {}
    for part in PARTS:
        for kind in ("images", "labels"):
            array = read_array(folder / f"{part}_{kind}.npy")
            if array is None:
                raise DataUnavailableError(f"{folder} has no {part} {kind}: add the data again with dmlviz data add.")
            arrays[f"{part}_{kind}"] = array
    return arrays


def columns_file(part: str) -> str:
    """Return the name of the file of a part's further columns; see dmlviz/data/columns.py."""
    return f"{part}_columns.parquet"


def features_file(part: str) -> str:
    """Return the name of the file of the features that a backbone made of a part's images."""
    return f"{part}_features.npy"


def save(
    root: Path,
    name: str,
    facts: Mapping[str, Any],
    parts: Mapping[str, np.ndarray],
    write: Callable[[Path], None] = lambda folder: None,
) -> None:
    """Put a data set into the data folder, whole or not at all; one that is there already stays.

    `write` adds files of its own to the folder.
    """
    place = ensure_dir(root / FOLDER) / name
    if (place / DESCRIBED).exists():
        return
    try:
        with new_folder(place.parent) as new:
            for part, array in parts.items():
                write_array(new / f"{part}.npy", array)
            write(new)
            write_json(new / DESCRIBED, dict(facts))
            new.rename(place)
    except DiskFullError:
        raise
    except OSError as error:
        if not (place / DESCRIBED).exists():  # otherwise another process was faster
            raise UserError(f"{place} cannot be written ({error.strerror}); choose another data folder.") from None


def remove(root: Path, name: str) -> None:
    """Delete it from the data folder; raise UserError where it is not there."""
    place = root / FOLDER / name
    if not is_custom(name) or not place.is_dir():
        raise UserError(f"There is no data set {str(name)[:40]!r} of your own in {root}.")
    old = Path(tempfile.mkdtemp(prefix=".old-", dir=place.parent))
    place.rename(old / name)
    shutil.rmtree(old, ignore_errors=True)
