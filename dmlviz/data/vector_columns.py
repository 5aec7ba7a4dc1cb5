"""Detection of a table's vector columns, by their names and content, for tables without an explicit choice."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

SEEN = 100  # rows that decide whether texts are vectors
_NUMBERED = re.compile(r"(.*?)(\d+)")
_AXIS = re.compile(r"(|.*[\W_])([xyz])", re.IGNORECASE)
_LONGITUDE, _LATITUDE = ("longitude", "long", "lon", "lng"), ("latitude", "lat")
_LIST = re.compile(r"\s*\[[-+.,\seE\dnaif]*\d[-+.,\seE\dnaif]*\]\s*")
_ROW_NUMBERS = re.compile(r"|unnamed: 0|__index_level_0__|index|row|idx|.*?[\W_]?id", re.IGNORECASE)


def numeric_vector(table: "pyarrow.Table", numeric: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of numbers that are most likely a vector.

    They are the longest of: coordinates (x, y; umap_x, umap_y; longitude, latitude) and series that count from 0 or 1
    (d0, d1, …; pca_1, pca_2). Without any, they are all columns that do not merely number the rows.
    """
    axes, series = coordinates(numeric), counted(numeric)
    longest = series if len(series) > len(axes) else axes
    if len(longest) > 1:
        return tuple(longest)
    return tuple(column for column in numeric if not is_row_number(table, column))


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


def counted(columns: Sequence[str]) -> list[str]:
    """Return the columns of the longest series with one name and a number from 0 or 1 on, such as d0, d1, d2."""
    series: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for column in columns:
        match = _NUMBERED.fullmatch(column)
        if match:
            series[match[1]].append((int(match[2]), column))
    from_the_first = [sorted(numbers) for numbers in series.values() if min(numbers)[0] <= 1]
    return [column for _, column in max(from_the_first, key=len, default=[])]


def is_row_number(table: "pyarrow.Table", column: str) -> bool:
    """Return whether a column merely numbers the rows: it is called id or index, has no name, or counts from 0 or 1."""
    from pyarrow import types

    if _ROW_NUMBERS.fullmatch(column.strip()):
        return True
    values = table.column(column)
    if not types.is_integer(values.type) or values.null_count or len(values) < 3:
        return False
    numbers = values.to_numpy()
    return bool(numbers[0] in (0, 1) and (np.diff(numbers) == 1).all())


def parse_text_vectors(table: "pyarrow.Table", name: str) -> "pyarrow.Table":
    """Return the table with texts such as "[0.1, 0.2]", as pandas and NumPy write vectors, as lists of numbers.

    Raises:
        UserError: For a column of such texts in which one is none; it names column and row.
    """
    import pyarrow
    from pyarrow import types

    for number, (column, values) in enumerate(zip(table.column_names, table.columns, strict=True)):
        kind = values.type.value_type if types.is_dictionary(values.type) else values.type
        if not (types.is_string(kind) or types.is_large_string(kind)):
            continue
        samples = [text for text in values.slice(0, SEEN).to_pylist() if text]
        if not samples or not all(_LIST.fullmatch(text) for text in samples):
            continue
        vectors = [_parse(text, row, column, name) for row, text in enumerate(values.to_pylist(), start=1)]
        table = table.set_column(number, column, pyarrow.array(vectors, pyarrow.list_(pyarrow.float32())))
    return table


def _parse(text: str | None, row: int, column: str, name: str) -> np.ndarray | None:
    if not text:
        return None
    try:
        return np.array(text.strip()[1:-1].replace(",", " ").split(), np.float32)
    except ValueError:
        short = "shortened with …" if "..." in text else f"{text[:40]!r}"
        raise UserError(
            f"Column {column} of {name} holds vectors as texts; that in row {row:,} is {short}: save the table as "
            "Parquet, which keeps lists of numbers."
        ) from None
