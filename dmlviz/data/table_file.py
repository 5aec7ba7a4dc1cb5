"""Tables from CSV, TSV and Parquet files, and which of their columns are vectors, pictures, labels and roles."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.data.columns import MAX_COLUMNS
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

SUFFIXES = (".csv", ".tsv", ".parquet")
LABEL_KEYS = ("label", "labels", "class", "classes", "target", "targets", "y")
VECTOR_KEYS = ("vector", "vectors", "embedding", "embeddings", "features", "x")
PICTURE_KEYS = ("image", "picture", "img", "image_path", "path", "file", "file_name", "filename", "image_name")
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif")
MAX_VECTORS = 250_000
MAX_DIMENSIONS = 4096
MAX_NUMBERS = 250_000_000  # rows times dimensions: a gigabyte
MAX_TABLE_BYTES = 4 * 1024**3  # unpacked
MAX_LINE = 1_000_000  # characters
MAX_LINES_PER_ROW = 10
_NUMBERED = re.compile(r"(.*?)(\d+)")


@dataclass(frozen=True)
class Choice:
    """Which columns are what, as a person says; None or empty where the names decide.

    Attributes:
        vector: one column of lists, or one column for each dimension; x and y for a map that is given.
        label: the class.
        image: pictures: their bytes, or their paths relative to the table.
    """

    vector: tuple[str, ...] = ()
    label: str | None = None
    image: str | None = None


@dataclass(frozen=True)
class FoundColumns:
    """Which columns of a table are what; `others` are all that are left, and numbers that only serve as a vector."""

    vector: tuple[str, ...]
    label: str | None
    image: str | None
    others: tuple[str, ...]


def read_table_file(path: Path) -> "pyarrow.Table":
    """Read a table; its size is checked before it is parsed.

    Raises:
        UserError: for a table that is too large.
    """
    return _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)


def find_columns(table: "pyarrow.Table", name: str, choice: Choice | None = None) -> FoundColumns:
    """Find out which columns are what: as chosen, else by their names and types.

    A vector is a column of lists of numbers, or columns of numbers that are counted (d0, d1, …), or, without pictures,
    all columns of numbers. The label is the column of that name, or else the only column of texts, if texts recur.

    Args:
        table: the table.
        name: name of its file, for messages.
        choice: what a person says.

    Raises:
        UserError: for a chosen column that is not there, or of the wrong type.
    """
    choice = choice or Choice()
    by_lower_name = {column.lower(): column for column in reversed(table.column_names)}
    for chosen in (*choice.vector, choice.label, choice.image):
        if chosen is not None and chosen not in table.column_names:
            raise UserError(
                f"The columns of {name} are {', '.join(table.column_names[:12])}; got {chosen!r}: choose one of these."
            )
    image = choice.image or next(iter(_pictures(table, by_lower_name)), None)
    label = choice.label or _label(table, by_lower_name)
    free = [column for column in table.column_names if column not in (image, label)]
    vector = choice.vector or _vector(table, by_lower_name, free, pictures=image is not None)
    if not choice.label and label is None:
        label = _recurring_text(table, [column for column in free if column not in vector])
    hidden = {image, label}
    if choice.vector or len(vector) == 1 or _counted(vector) == list(vector) or len(vector) > MAX_COLUMNS:
        hidden |= set(vector)  # otherwise each has a name of its own, and is worth a look
    return FoundColumns(vector, label, image, tuple(column for column in table.column_names if column not in hidden))


def read_vectors(table: "pyarrow.Table", columns: Sequence[str], name: str) -> np.ndarray:
    """Return the vectors (n × d, float32) in these columns.

    Raises:
        UserError: for lists of different lengths, or a value that is not a finite number; it names column and row.
    """
    from pyarrow import compute

    lists = [column for column in columns if is_list(table.column(column))]
    if lists and len(columns) > 1:
        raise UserError(
            f"A vector is one column of lists, or several columns of numbers; column {lists[0]} of {name} holds lists: "
            "choose it alone."
        )
    if not lists:
        texts = [column for column in columns if not is_numeric(table.column(column))]
        if texts:
            kind = table.column(texts[0]).type
            raise UserError(
                f"A column of a vector holds numbers; column {texts[0]} of {name} holds {kind}: choose others."
            )
        check_size(name, table.num_rows, len(columns))
        vectors = np.empty((table.num_rows, len(columns)), np.float32)
        for number, column in enumerate(columns):
            vectors[:, number] = table.column(column).to_numpy()
    else:
        column = table.column(lists[0])
        lengths = compute.list_value_length(column).fill_null(-1).to_numpy()
        if len(lengths) and (lengths != lengths[0]).any():
            row = int(np.argmax(lengths != lengths[0]))
            other = "nothing" if lengths[row] < 0 else f"{lengths[row]:,} numbers"
            raise UserError(
                f"All vectors have one length; in {name}, column {lists[0]} has {max(lengths[0], 0):,} numbers in row "
                f"1 and {other} in row {row + 1:,}: make them equal."
            )
        check_size(name, table.num_rows, int(lengths[0]) if len(lengths) else 0)
        parts = [np.asarray(chunk.flatten(), np.float32) for chunk in column.chunks]
        vectors = np.concatenate(parts or [np.zeros(0, np.float32)]).reshape(table.num_rows, -1)
    check_finite(vectors, name, columns)
    return vectors


def check_finite(vectors: np.ndarray, name: str, columns: Sequence[str] = ()) -> None:
    """Raise UserError if a vector (n × d) holds NaN or infinity; it names the first such row and column."""
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        return
    invalid = ~np.isfinite(vectors)
    rows = np.flatnonzero(invalid.any(axis=1))
    if not len(rows):
        return
    dimension = int(np.argmax(invalid[rows[0]]))
    value = float(vectors[rows[0], dimension])
    column = (
        f"column {columns[0] if len(columns) == 1 else columns[dimension]}" if columns else f"dimension {dimension}"
    )
    raise UserError(
        f"Vectors are finite numbers; {len(rows):,} rows of {name} hold NaN, infinity or nothing, the first in row "
        f"{rows[0] + 1:,}, {column} ({value}): remove them."
    )


def is_list(column: "pyarrow.ChunkedArray") -> bool:
    """Whether a column holds lists of numbers."""
    from pyarrow import types

    checks = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if not any(check(column.type) for check in checks):
        return False
    value = column.type.value_type
    return bool(types.is_floating(value) or types.is_integer(value))


def is_numeric(column: "pyarrow.ChunkedArray") -> bool:
    """Whether a column holds numbers."""
    from pyarrow import types

    return bool(types.is_floating(column.type) or types.is_integer(column.type))


def is_text(column: "pyarrow.ChunkedArray") -> bool:
    """Whether a column holds texts, dictionary-encoded ones too."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_binary_picture(column: "pyarrow.ChunkedArray") -> bool:
    """Whether a column holds pictures as bytes, or as Hugging Face keeps them: bytes and a path."""
    from pyarrow import types

    kind = column.type
    if types.is_struct(kind):
        return "bytes" in {field.name for field in kind}
    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _pictures(table: "pyarrow.Table", by_lower_name: dict[str, str]) -> list[str]:
    """The columns of pictures, those first whose name says so."""
    found = [
        column
        for column in table.column_names
        if is_binary_picture(table.column(column)) or _holds_paths(table.column(column))
    ]
    named = [by_lower_name[key] for key in PICTURE_KEYS if by_lower_name.get(key) in found]
    return [*named, *(column for column in found if column not in named)]


def _holds_paths(column: "pyarrow.ChunkedArray") -> bool:
    if not is_text(column):
        return False
    first = next((value.as_py() for value in column.slice(0, 100) if value.as_py()), "")
    return first.lower().endswith(PICTURE_SUFFIXES)


def _vector(table: "pyarrow.Table", by_lower_name: dict[str, str], free: list[str], pictures: bool) -> tuple[str, ...]:
    lists = [column for column in free if is_list(table.column(column))]
    if lists:
        return (next((by_lower_name[key] for key in VECTOR_KEYS if by_lower_name.get(key) in lists), lists[0]),)
    numeric = [column for column in free if is_numeric(table.column(column))]
    counted = _counted(numeric)
    if len(counted) > 1:
        return tuple(counted)
    return () if pictures else tuple(numeric)


def _counted(columns: Sequence[str]) -> list[str]:
    """The columns of the longest series with one name and a number, such as d0, d1, d2, in their order."""
    series: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for column in columns:
        match = _NUMBERED.fullmatch(column)
        if match:
            series[match[1]].append((int(match[2]), column))
    longest = max(series.values(), key=len, default=[])
    return [column for _, column in longest]


def _label(table: "pyarrow.Table", by_lower_name: dict[str, str]) -> str | None:
    keys = [key for key in LABEL_KEYS if key in by_lower_name]
    if "x" in by_lower_name and is_numeric(table.column(by_lower_name["x"])):
        keys = [key for key in keys if key != "y"]  # x and y are coordinates
    return by_lower_name[keys[0]] if keys else None


def _recurring_text(table: "pyarrow.Table", columns: list[str]) -> str | None:
    texts = [column for column in columns if is_text(table.column(column))]
    if len(texts) != 1 or len(table.column(texts[0]).drop_null().unique()) > max(1, table.num_rows // 2):
        return None
    return texts[0]


def _csv(path: Path) -> "pyarrow.Table":
    from pyarrow import csv

    with open(path, encoding="utf-8", errors="replace") as file:
        first = file.readline(MAX_LINE)
    if len(first) == MAX_LINE:
        raise UserError(f"A line of a table has up to {MAX_LINE:,} characters; {path.name} has a longer one: cut it.")
    _check_lines(path)
    tab = "\t" if path.suffix.lower() == ".tsv" or first.count("\t") > first.count(",") else ","
    check_size(path.name, 1, first.count(tab) - MAX_COLUMNS)
    headless = all(_is_number(part) for part in first.strip().split(tab)[1:-1] or [""])
    return csv.read_csv(
        path,
        read_options=csv.ReadOptions(autogenerate_column_names=headless),
        parse_options=csv.ParseOptions(delimiter=tab),
    )


def _check_lines(path: Path) -> None:
    """Refuse a table with far too many lines before it is parsed; a quoted text may hold some line ends."""
    with open(path, "rb") as file:
        lines = sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))
    if lines > MAX_LINES_PER_ROW * MAX_VECTORS:
        raise _too_many(path.name, lines, 1)


def _parquet(path: Path) -> "pyarrow.Table":
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        metadata, texts = file.metadata, [field.name for field in file.schema_arrow if str(field.type) == "string"]
        check_size(path.name, metadata.num_rows, metadata.num_columns - MAX_COLUMNS)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        values = sum(max(group.column(i).num_values for i in range(group.num_columns)) for group in groups)
        check_size(path.name, metadata.num_rows, values // max(1, metadata.num_rows))  # in lists
        size = sum(group.total_byte_size for group in groups)
        if size > MAX_TABLE_BYTES:
            raise UserError(
                f"A table has up to {MAX_TABLE_BYTES / 1024**3:.0f} GB; {path.name} unpacks to {size / 1024**3:.1f} "
                "GB: keep the pictures as files, and their paths in the table."
            )
    with parquet.ParquetFile(path, read_dictionary=texts) as file:  # a long text that is repeated is read once
        return file.read()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_size(name: str, rows: int, dimensions: int) -> None:
    """Raise UserError for more rows or dimensions than a file may have."""
    if rows > MAX_VECTORS or dimensions > MAX_DIMENSIONS or rows * dimensions > MAX_NUMBERS:
        raise _too_many(name, rows, dimensions)


def _too_many(name: str, rows: int, dimensions: int) -> UserError:
    return UserError(
        f"A file has up to {MAX_VECTORS:,} vectors of up to {MAX_DIMENSIONS:,} dimensions, {MAX_NUMBERS:,} numbers in "
        f"all; {name} holds {rows:,} of {dimensions:,}: keep fewer rows or columns."
    )
