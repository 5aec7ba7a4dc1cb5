"""Further columns of the test images, as colors and marker shapes of the map."""

from datetime import UTC
from functools import lru_cache
from pathlib import Path

import numpy as np

from dmlviz.data.columns import Column, column_numbers, describe_columns
from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz.runs.run_columns import run_columns
from dmlviz_app.answers.protocol import ColumnInfo


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
