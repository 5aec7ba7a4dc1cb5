"""Further columns of the test images: what the map is colored by, and what the table below it shows."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from app.payloads.protocol.columns import ColumnInfo
from dmlviz.catalog import custom_datasets
from dmlviz.data.columns import Column, column_numbers, describe_columns, read_columns
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.run import Run

if TYPE_CHECKING:
    import pyarrow


def run_columns(run: Run, data: Path) -> "pyarrow.Table | None":
    """Return the columns of a run's test images: those of an imported table, or of the data set it was trained on.

    A damaged file is reported with the run; its columns are not there then.
    """
    labels = run.labels
    if labels is None:
        return None
    try:
        return run.columns if run.columns is not None else _of_dataset(run.config.dataset, data, len(labels))
    except DamagedFileError:
        return None


def has_columns(run: Run, data: Path) -> bool:
    """Whether there are columns, without reading them."""
    return (run.path / "columns.parquet").is_file() or _dataset_file(run.config.dataset, data).is_file()


def column_infos(run: Run, data: Path) -> list[ColumnInfo]:
    """Return what the map needs to know of the columns that it can be colored by."""
    return [
        {
            "name": column.name,
            "low": None if np.isnan(column.low) else column.low,
            "high": None if np.isnan(column.high) else column.high,
            "values": list(column.values) if column.kind == "category" else None,
        }
        for column in described(run, data)
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
    column = next((column for column in described(run, data) if column.name == name), None)
    if table is None or column is None:
        raise UserError(f"{run.title} has no column {name[:40]!r}: reload the page.")
    return column_numbers(table, column).astype("<f4").tobytes()


def described(run: Run, data: Path) -> tuple[Column, ...]:
    """Return what is known of a run's columns."""
    return _described(str(run.path), str(data), run.info["created"])


@lru_cache(maxsize=16)
def _described(path: str, data: str, created: str) -> tuple[Column, ...]:
    """`created` tells a run that was made again from the one before."""
    table = run_columns(Run(Path(path)), Path(data))
    return () if table is None else describe_columns(table)


def _dataset_file(dataset: str, data: Path) -> Path:
    return data / custom_datasets.FOLDER / dataset / custom_datasets.columns_file("test")


def _of_dataset(dataset: str, data: Path, rows: int) -> "pyarrow.Table | None":
    return read_columns(_dataset_file(dataset, data), rows) if custom_datasets.is_custom(dataset) else None
