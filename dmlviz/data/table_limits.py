"""Limits on the size of a table, packed ones too, and the check that its vectors are finite."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

import numpy as np

from dmlviz.errors import UserError

MAX_VECTORS = 250_000
MAX_DIMENSIONS = 4096
MAX_NUMBERS = 250_000_000  # rows times dimensions: a gigabyte
LARGEST = 1e150  # beyond, squares overflow
MAX_TABLE_BYTES = 4 * 1024**3  # unpacked


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading; one that ends in .gz is unpacked."""
    return cast("IO[bytes]", gzip.open(path)) if path.suffix.lower() == ".gz" else open(path, "rb")


def check_finite(vectors: np.ndarray, name: str, columns: Sequence[str] = ()) -> None:
    """Raise UserError if a vector (n × d) holds NaN or infinity; it names the first such row and column."""
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        return
    invalid = ~(np.abs(vectors) < np.float64(LARGEST))
    rows = np.flatnonzero(invalid.any(axis=1))
    if not len(rows):
        return
    dimension = int(np.argmax(invalid[rows[0]]))
    value = float(vectors[rows[0], dimension])
    column = (
        f"column {columns[0] if len(columns) == 1 else columns[dimension]}" if columns else f"dimension {dimension}"
    )
    other = ", or choose other columns with --vector" if len(columns) > 1 else ""
    what = f"numbers beyond ±{LARGEST:g}" if np.isfinite(value) else "NaN, infinity or nothing"
    which = f"1 row of {name} holds" if len(rows) == 1 else f"{len(rows):,} rows of {name} hold"
    raise UserError(
        f"Vectors are finite numbers; {which} {what}, the first in row "
        f"{rows[0] + 1:,}, {column} ({value}): remove {'it' if len(rows) == 1 else 'them'}{other}."
    )


def check_size(name: str, rows: int, dimensions: int = 0) -> None:
    """Raise UserError for more rows or dimensions (0 where they are not known yet) than a file may have."""
    if rows > MAX_VECTORS or dimensions > MAX_DIMENSIONS or rows * dimensions > MAX_NUMBERS:
        raise too_many(name, rows, dimensions)


def too_many(name: str, rows: int, dimensions: int = 0) -> UserError:
    """Return the error of a file with more rows or dimensions than it may have."""
    held = f"{rows:,} of {dimensions:,}" if dimensions else f"{rows:,} rows"
    return UserError(
        f"A file has up to {MAX_VECTORS:,} vectors of up to {MAX_DIMENSIONS:,} dimensions, {MAX_NUMBERS:,} numbers in "
        f"all; {name} holds {held}: keep fewer rows or columns."
    )


def too_large(name: str, size: int) -> UserError:
    """Return the error of a file with more bytes, unpacked, than a table may have."""
    return UserError(
        f"A table has up to {MAX_TABLE_BYTES / 1024**3:.0f} GB; {name} unpacks to {size / 1024**3:.1f} GB or more: "
        "keep fewer rows, or pictures as files and their paths in the table."
    )
