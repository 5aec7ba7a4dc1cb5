"""Further columns of the test images: colors and marker shapes of the map, and the table below it."""

from datetime import UTC
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz import data as images
from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.columns import Column, column_numbers, describe_columns, read_columns
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.run import Run
from dmlviz_app.answers.protocol import ColumnInfo

if TYPE_CHECKING:
    import pyarrow


def run_columns(run: Run, data: Path) -> "pyarrow.Table | None":
    """Return the columns of a run's test images: those of an imported table, or of the data set it was trained on.

    The roles of a made data set (query or gallery, camera, …) are columns, too. Those of a data set are there before a
    training has begun. A damaged file is reported with the run; its columns are not there then.
    """
    rows = None if run.labels is None else len(run.labels)
    try:
        return run.columns if run.columns is not None else _of_dataset(run.config.dataset, data, rows)
    except DamagedFileError:
        return None


def has_columns(run: Run, data: Path) -> bool:
    """Return whether there are columns, without reading them."""
    name = run.config.dataset
    if (run.path / "columns.parquet").is_file() or _dataset_file(name, data).is_file():
        return True
    return bool(DATASETS[name].roles) and name in images.available_datasets(data)


def column_infos(run: Run, data: Path) -> list[ColumnInfo]:
    """Return what the map needs to know of the columns that it can be colored by."""
    return [
        {
            "name": column.name,
            "low": None if np.isnan(column.low) else column.low,
            "high": None if np.isnan(column.high) else column.high,
            "values": list(column.values) if column.kind == "category" else None,
            "start": None if column.start is None else column.start.replace(tzinfo=UTC).timestamp() * 1000,
        }
        for column in columns_of(run, data)
        if column.kind != "text"
    ]


def column_bytes(run: Run, data: Path, name: str) -> bytes:
    """Return a number for each test image: its value, or the index of its category.

    Returns:
        n little-endian float32, NaN where there is no value.

    Raises:
        UserError: for an unknown column.
    """
    table = run_columns(run, data)
    column = next((column for column in columns_of(run, data) if column.name == name), None)
    if table is None or column is None:
        raise UserError(f"{run.title} has no column {name[:40]!r}: reload the page.")
    limits = np.finfo(np.float32)
    numbers: np.ndarray = np.clip(column_numbers(table, column), limits.min, limits.max)
    return numbers.astype("<f4").tobytes()


def columns_of(run: Run, data: Path) -> tuple[Column, ...]:
    """Return what is known of a run's columns."""
    return _cached_columns(str(run.path), str(data), run.info["created"], (run.path / "labels.npy").is_file())


@lru_cache(maxsize=16)
def _cached_columns(path: str, data: str, created: str, begun: bool) -> tuple[Column, ...]:
    """Return all columns; `created` distinguishes a run made again from the one before, `begun` known images."""
    table = run_columns(Run(Path(path)), Path(data))
    return () if table is None else describe_columns(table)


def _dataset_file(dataset: str, data: Path) -> Path:
    return data / custom_datasets.FOLDER / dataset / custom_datasets.columns_file("test")


def _of_dataset(dataset: str, data: Path, rows: int | None) -> "pyarrow.Table | None":
    if custom_datasets.is_custom(dataset):
        return read_columns(_dataset_file(dataset, data), rows)
    if not DATASETS[dataset].roles or dataset not in images.available_datasets(data):
        return None
    table = _roles(dataset, data)
    return table if rows in (None, table.num_rows) else None


@lru_cache(maxsize=4)
def _roles(dataset: str, data: Path) -> "pyarrow.Table":
    """Return the roles of a data set's test images, the names of their values in the order of the spec."""
    from pyarrow import DictionaryArray, array, table

    source = images.load(dataset, data)
    codes = {role: np.asarray(values, np.int32) for role, values in source.test.roles.items()}
    return table({role: DictionaryArray.from_arrays(array(codes[role]), array(source.roles[role])) for role in codes})
