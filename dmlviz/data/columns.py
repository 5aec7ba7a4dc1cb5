"""Further columns of a table, for each image or vector; kept as Parquet beside the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from dmlviz.data.arrow_types import is_numeric, is_text, numbers_of, value_type
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.storage.files import atomic_write
from dmlviz.storage.regular_file import open_regular
from dmlviz.storage.text import one_line

if TYPE_CHECKING:
    import pyarrow

FILE = "columns.parquet"
MAX_COLUMNS = 64
MAX_CATEGORIES = 1000
FEW_NUMBERS = 12  # a column of whole numbers with up to so many different ones holds categories
MAX_NAME, MAX_TEXT = 60, 200  # characters
MAX_BYTES = 400_000_000  # of a file

Kind = Literal["number", "category", "text"]


@dataclass(frozen=True)
class Column:
    """The description of a column.

    Attributes:
        name: Its name.
        kind: "number"; "category", of a few different values; or "text", which can be searched but not colored by.
            Dates and times are numbers, too: days since the first of them.
        low: The least number; NaN for other kinds, or if there is none.
        high: The largest number.
        values: The categories, in the order of the column's own dictionary if it has one, else in natural order.
        start: For dates and times the first of them; None for other columns.
    """

    name: str
    kind: Kind
    low: float = float("nan")
    high: float = float("nan")
    values: tuple[str, ...] = ()
    start: datetime | None = None

    def date_of(self, number: float) -> datetime:
        """Return the time that a number of this column of dates stands for."""
        assert self.start is not None
        return self.start + timedelta(days=float(number))


def clean_columns(table: "pyarrow.Table") -> tuple["pyarrow.Table", list[str], list[str]]:
    """Return the columns that can be kept, those that cannot, and notes on what was changed.

    Kept are up to 64 columns of numbers, Booleans, dates or short texts. Durations and times of the day become seconds.
    """
    import pyarrow
    from pyarrow import compute, types

    arrays: dict[str, pyarrow.ChunkedArray] = {}
    left_out, cut, seconds = [], [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = value_type(column.type)
        short = base = one_line(name, MAX_NAME) or "index"
        number = 2
        while short in arrays:
            short, number = f"{base} {number}", number + 1
        if is_text(column):
            texts = _short_texts(column)
            longest = compute.max(compute.utf8_length(column.cast(pyarrow.large_string()))).as_py()
            cut += [short] if (longest or 0) > MAX_TEXT else []
        elif types.is_duration(kind) or types.is_time(kind):
            texts = numbers_of(column)
            seconds.append(short)
        elif types.is_decimal(kind) or types.is_float16(kind):
            texts = numbers_of(column)
        elif (types.is_primitive(kind) or types.is_boolean(kind)) and not types.is_interval(kind):
            texts = column
        else:
            left_out.append(f"{name} ({'nothing' if types.is_null(kind) else str(kind).split('<')[0]})")
            continue
        if column.null_count == len(column):
            left_out.append(f"{name} (nothing)")
        elif len(arrays) == MAX_COLUMNS:
            left_out.append(name)
        else:
            arrays[short] = texts
    notes = [f"A table keeps {MAX_COLUMNS} columns beside its vectors and pictures."] * (len(arrays) == MAX_COLUMNS)
    notes = notes if any("(" not in name for name in left_out) else []
    if cut:
        notes.append(f"Texts are cut after {MAX_TEXT} characters: {', '.join(cut)}.")
    if seconds:
        notes.append(f"In seconds: {', '.join(seconds)}.")
    return pyarrow.table(arrays), left_out, notes


def _short_texts(column: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
    """Return texts of up to 200 characters; those of an ordered dictionary keep it, as long as they are few."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(column.type) and column.type.ordered:
        codes = column.combine_chunks()
        entries = compute.utf8_slice_codeunits(codes.dictionary.cast("string"), 0, MAX_TEXT)
        if len(entries) <= MAX_CATEGORIES and len(entries.unique()) == len(entries) and not entries.null_count:
            indices = codes.indices.cast("int32")
            return pyarrow.chunked_array([pyarrow.DictionaryArray.from_arrays(indices, entries, ordered=True)])
    return compute.utf8_slice_codeunits(column.cast(pyarrow.large_string()), 0, MAX_TEXT)


def write_columns(table: "pyarrow.Table", path: Path) -> None:
    """Write columns as a Parquet file."""
    from pyarrow import parquet

    with atomic_write(path) as file:
        parquet.write_table(table, file)


def read_columns(path: Path, rows: int | None = None) -> "pyarrow.Table | None":
    """Read columns; None if there is no such file.

    Raises:
        DamagedFileError: If it cannot be read, or has another number of rows.
    """
    from pyarrow import ArrowException, parquet

    try:
        with open_regular(path) as source, parquet.ParquetFile(source) as file:
            size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
            if file.metadata.num_columns > MAX_COLUMNS or size > MAX_BYTES:
                raise DamagedFileError(path, "it holds more than a table of columns")
            table = file.read()
    except FileNotFoundError:
        return None
    except DamagedFileError:  # a ValueError too
        raise
    except (ArrowException, OSError, ValueError) as error:
        raise DamagedFileError(path, one_line(str(error), 100) or type(error).__name__) from None
    if rows is not None and table.num_rows != rows:
        raise DamagedFileError(path, f"it has {table.num_rows:,} rows for {rows:,} images")
    return table


def describe_columns(table: "pyarrow.Table") -> tuple[Column, ...]:
    """Return what is known of each column."""
    return tuple(_describe(name, column) for name, column in zip(table.column_names, table.columns, strict=True))


def column_numbers(table: "pyarrow.Table", column: Column) -> np.ndarray:
    """Return a number for each row (n, float64): the value, or the index of its category; NaN where there is none.

    Infinite numbers have no place on a scale of colors: they are NaN, too.
    """
    from pyarrow import array, compute

    values = table.column(column.name)
    if column.kind == "text":
        raise UserError(f"{column.name} has too many different texts to color by: search it instead.")
    if column.start is not None:
        return _days_since(values, column.start)
    if column.kind == "number":
        numbers = np.array(numbers_of(values).to_numpy(), np.float64)
        numbers[np.isinf(numbers)] = np.nan
        return numbers
    return np.asarray(compute.index_in(_as_text(values), array(column.values, "string")).to_numpy(), np.float64)


def columns_note(names: Sequence[str]) -> list[str]:
    """Return a sentence that names the columns, for a report; none without columns."""
    return [f"Columns to color and search by: {', '.join(names)}."] if names else []


def _describe(name: str, column: "pyarrow.ChunkedArray") -> Column:
    from pyarrow import compute, types

    kind = column.type
    if types.is_dictionary(kind):
        entries = column.combine_chunks().dictionary
        return Column(name, "text" if len(entries) > MAX_CATEGORIES else "category", values=_first(entries))
    distinct = compute.count_distinct(column).as_py()
    if is_numeric(column) and not (types.is_integer(kind) and distinct <= FEW_NUMBERS):
        numbers = numbers_of(column).to_numpy()
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return Column(name, "number")
        return Column(name, "number", float(numbers.min()), float(numbers.max()))
    if (types.is_timestamp(kind) or types.is_date(kind)) and distinct > FEW_NUMBERS:
        ends = compute.min_max(_times(column)).as_py()
        return Column(name, "number", 0.0, (ends["max"] - ends["min"]) / timedelta(days=1), start=ends["min"])
    if distinct > MAX_CATEGORIES:
        return Column(name, "text")
    values = [value for value in _as_text(column).unique().to_pylist() if value is not None]
    return Column(name, "category", values=tuple(sorted(values, key=_natural)))


def _first(entries: "pyarrow.Array") -> tuple[str, ...]:
    return () if len(entries) > MAX_CATEGORIES else tuple(entries.cast("string").to_pylist())


def _times(column: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
    """Return dates and times to the millisecond, those of other time zones in UTC."""
    import pyarrow

    return column.cast(pyarrow.timestamp("ms"), safe=False)


def _days_since(column: "pyarrow.ChunkedArray", start: datetime) -> np.ndarray:
    times = _times(column).to_numpy().astype("datetime64[ms]")
    days: np.ndarray = (times - np.datetime64(start, "ms")) / np.timedelta64(1, "D")
    return days  # NaN where there is none


def _as_text(column: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
    return column.cast("string")


def _natural(value: str) -> tuple[bool, float, str]:
    try:
        number = float(value)
    except ValueError:
        return (True, 0.0, value)
    return (number != number, 0.0 if number != number else number, value)
