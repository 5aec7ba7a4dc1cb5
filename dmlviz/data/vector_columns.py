"""Detection of a table's vector columns, by their names and types, for tables without an explicit choice."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmlviz.data.arrow_types import is_list_type, is_numeric, is_text, leaf_type
from dmlviz.data.text_columns import odd_cell
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

VECTOR_KEYS = ("vector", "vectors", "embedding", "embeddings", "features", "x")
_PIXEL = re.compile(r"(?:|pixel|pix|px|p|row|r)[\W_]?(\d{1,5})[\W_]?(?:x|_|,|-|col|c)[\W_]?(\d{1,5})", re.IGNORECASE)
_AXIS = re.compile(r"(|.*[\W_])([xyz])", re.IGNORECASE)
_LONGITUDE, _LATITUDE = ("longitude", "long", "lon", "lng"), ("latitude", "lat")
_ROW_NUMBERS = re.compile(r"|unnamed: 0|__index_level_0__|index|row|idx|(?i:(.*[\W_])?id)|.*[a-z]I[dD]")
_TIME = re.compile(r"(.*[\W_])?(date|time|datetime|timestamp|(created|updated)([\W_]?at)?)", re.IGNORECASE)
_NEIGHBORS = ("neighbor_", "distance_")  # series in an exported table of a run


class Series(NamedTuple):
    """Columns with one name and a number each, in the order of these; `gaps` are the columns of missing numbers."""

    name: str
    columns: tuple[str, ...]
    gaps: tuple[str, ...]


def list_column(fields: Sequence["pyarrow.Field"]) -> str | None:
    """Return the column of lists that is most likely the vector; None without one.

    First come those called vector or embedding, then those whose name says it in part, then numbers with decimals.
    """
    from pyarrow import types

    lists = [(field.name, leaf) for field in fields if (leaf := leaf_type(field.type)) is not None]

    def rank(entry: tuple[str, "pyarrow.DataType"]) -> tuple[int, bool, bool]:
        name, leaf = entry[0].lower(), entry[1]
        key = VECTOR_KEYS.index(name) if name in VECTOR_KEYS else len(VECTOR_KEYS)
        return key, not re.search("emb|vec|feat", name), types.is_integer(leaf) or types.is_boolean(leaf)

    return min(lists, key=rank)[0] if lists else None


def numeric_vector(table: "pyarrow.Table", free: Sequence[str], name: str, pictures: bool) -> tuple[str, ...]:
    """Return the columns of numbers that are most likely a vector.

    They are the longest of: coordinates (x, y; umap_x, umap_y; longitude, latitude) and series that count from 0 or 1
    (d0, d1, …; pca_1, pca_2; 1x1, 1x2, …). Without any, and without pictures, they are all columns of numbers that do
    not merely number the rows.

    Args:
        table: The table.
        free: Columns that may be of the vector.
        name: Name of the table, for messages.
        pictures: Whether the table has pictures.

    Raises:
        UserError: For a series in which some columns are of numbers and some are not.
    """
    from pyarrow import types

    numeric = [column for column in free if is_numeric(table.column(column))]
    flags = [column for column in free if types.is_boolean(table.column(column).type)]
    axes, series = [] if pictures else coordinates(numeric), longest_series([*numeric, *flags])
    longest: Sequence[str] = axes
    if series is not None and len(series.columns) > len(axes):
        longest = series.columns
        _check_whole(table, series, free, name)
    if len(longest) > 1 or pictures:
        return tuple(longest) if len(longest) > 1 else ()
    return tuple(column for column in numeric if not is_row_number(table, column) and not _is_time(table, column))


def _check_whole(table: "pyarrow.Table", series: Series, free: Sequence[str], name: str) -> None:
    """Raise UserError for a column that belongs to the series by its name and holds no numbers."""
    from pyarrow import types

    whole = next((other for other in all_series(free) if other.name == series.name), series)
    for column in whole.columns:
        if column in series.columns:
            continue
        values, what = table.column(column), f"holds {table.column(column).type}"
        if is_text(values):
            odd = odd_cell(values.cast("string")) or (0, str(values[0].as_py())[:40])
            what = f"holds texts, such as {odd[1]!r} in row {odd[0] + 1:,}"
        elif types.is_null(values.type):
            what = "holds nothing"
        raise UserError(
            f"All columns of a vector are numbers; {column} of {name}, one of {whole.columns[0]} … "
            f"{whole.columns[-1]}, {what}: correct it, or choose the columns with --vector."
        )


def coordinates(columns: Sequence[str]) -> list[str]:
    """Return the columns called x and y (and z), or with one beginning and these, or longitude and latitude."""
    axes: dict[str, dict[str, str]] = defaultdict(dict)
    for column in columns:
        match = _AXIS.fullmatch(column)
        if match:
            axes[match[1].lower()].setdefault(match[2].lower(), column)
    for group in (axes.get("", {}), *axes.values()):
        if {"x", "y"} <= group.keys():
            return [group[axis] for axis in "xyz" if axis in group]
    by_lower_name = {column.lower(): column for column in reversed(columns)}
    place = [next((by_lower_name[key] for key in keys if key in by_lower_name), "") for keys in (_LONGITUDE, _LATITUDE)]
    return place if all(place) else []


def all_series(columns: Sequence[str]) -> list[Series]:
    """Return the series with one name and a number from 0 or 1 on, such as d0, d1, d2; pixels 1x1, 1x2, … are one."""
    found: dict[str, dict[tuple[int, ...], str]] = defaultdict(dict)
    for column in columns:
        pixel = _PIXEL.fullmatch(column)
        stem = column.rstrip(")]} ")
        name = stem.rstrip("0123456789")
        digits = stem[len(name) :]
        if pixel:
            found[column[: pixel.start(1)] + "#x#"][int(pixel[1]), int(pixel[2])] = column
        elif 0 < len(digits) < 10 and digits.isascii() and name.lower() not in _NEIGHBORS:
            found[name].setdefault((int(digits),), column)
    series = []
    for name, numbers in found.items():
        order = sorted(numbers)
        if any(min(number[axis] for number in order) > 1 for axis in range(len(order[0]))):
            continue
        gaps: Sequence[str] = ()
        if len(order[0]) == 1 and order[-1][0] - order[0][0] < 4 * len(order):
            missing = sorted(set(range(order[0][0], order[-1][0])) - {number for (number,) in order})
            gaps = [f"{name}{number}" for number in missing]
        series.append(Series(name, tuple(numbers[number] for number in order), tuple(gaps)))
    return series


def longest_series(columns: Sequence[str]) -> Series | None:
    """Return the longest series, the first of those as long; None without one."""
    return max(all_series(columns), key=lambda series: len(series.columns), default=None)


def counted(columns: Sequence[str]) -> list[str]:
    """Return the columns of the longest series."""
    series = longest_series(columns)
    return [] if series is None else list(series.columns)


def is_row_number(table: "pyarrow.Table", column: str) -> bool:
    """Return whether a column merely numbers the rows: it is called id or index, has no name, or counts from 0 or 1."""
    from pyarrow import types

    if _ROW_NUMBERS.fullmatch(column) or _ROW_NUMBERS.fullmatch(column.lower()):
        return True
    values = table.column(column)
    if not types.is_integer(values.type) or values.null_count or len(values) < 3:
        return False
    numbers = values.to_numpy()
    return bool(numbers[0] in (0, 1) and (np.diff(numbers) == 1).all())


def _is_time(table: "pyarrow.Table", column: str) -> bool:
    """Return whether a column holds times as pandas writes them in JSON: seconds, or parts of them, since 1970."""
    from pyarrow import compute, types

    values, least = table.column(column), 100_000_000
    whole = types.is_integer(values.type) and values.null_count < len(values)
    return _TIME.fullmatch(column) is not None and whole and compute.min(values).as_py() > least


def is_list(column: "pyarrow.ChunkedArray") -> bool:
    """Return whether a column holds lists of numbers, or lists of such lists."""
    return is_list_type(column.type) and leaf_type(column.type) is not None
