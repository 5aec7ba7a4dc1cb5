"""Tables from CSV, TSV and Parquet files, and their columns of vectors, pictures, labels and roles."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.data.columns import MAX_COLUMNS
from dmlviz.data.csv_file import read_csv_file
from dmlviz.data.hugging_face import with_class_names
from dmlviz.data.table_limits import MAX_TABLE_BYTES, check_finite, check_size
from dmlviz.data.vector_columns import coordinates, counted, is_row_number, numeric_vector, parse_text_vectors
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

SUFFIXES = (".csv", ".tsv", ".parquet")
LABEL_KEYS = ("label", "labels", "class", "classes", "target", "targets", "y")
VECTOR_KEYS = ("vector", "vectors", "embedding", "embeddings", "features", "x")
PICTURE_KEYS = ("image", "picture", "img", "image_path", "path", "file", "file_name", "filename", "image_name")
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".heic", ".heif", ".avif")


@dataclass(frozen=True)
class Choice:
    """The roles of columns, as a person chose them; None or empty where the names decide.

    Attributes:
        vector: One column of lists, or one column for each dimension; x and y for a map that is given.
        label: The class.
        image: Pictures: their bytes, or their paths relative to the table.
        folder_level: Of folders of pictures, the number of the level of the classes, from 1.
    """

    vector: tuple[str, ...] = ()
    label: str | None = None
    image: str | None = None
    folder_level: int | None = None


@dataclass(frozen=True)
class FoundColumns:
    """The roles of a table's columns; `others` are all that are left, and numbers that only serve as a vector."""

    vector: tuple[str, ...]
    label: str | None
    image: str | None
    others: tuple[str, ...]
    chosen: bool = False  # the vector, by a person

    def notes(self) -> list[str]:
        """Return a sentence on the vector and one on the label, for a report."""
        names = ", ".join(self.vector)
        if len(self.vector) > 6:
            names = f"{self.vector[0]}, {self.vector[1]}, … {self.vector[-1]}, {len(self.vector)} columns"
        given = len(self.vector) == 1 or list(self.vector) in (counted(self.vector), coordinates(self.vector))
        scale = "" if given or self.chosen else ", as they are, not scaled"
        how = "" if self.chosen else " (choose others with --vector)"
        label = f"Label: {self.label}." if self.label is not None else "No column is a label (choose one with --label)."
        return [f"Vector: {names}{scale}{how}.", label]


def read_table_file(path: Path) -> tuple["pyarrow.Table", list[str]]:
    """Read a table; return it with notes on the reading. Its size is checked before it is parsed.

    Raises:
        UserError: For a table that is too large.
    """
    if path.suffix.lower() == ".parquet":
        return prepare_table(_parquet(path), path.name), []
    table, notes = read_csv_file(path, MAX_COLUMNS)
    return prepare_table(table, path.name), notes


def prepare_table(table: "pyarrow.Table", name: str) -> "pyarrow.Table":
    """Return a table with its classes as names and its vectors as lists, where they are written otherwise.

    Raises:
        UserError: For vectors that cannot be read from their texts; it names column and row.
    """
    return parse_text_vectors(with_class_names(table), name)


def find_columns(table: "pyarrow.Table", name: str, choice: Choice | None = None) -> FoundColumns:
    """Find the role of each column: as chosen, else by name and type.

    A vector is a column of lists of numbers, or columns of numbers that are counted (d0, d1, …), or, without pictures,
    coordinates or else all columns of numbers (`dmlviz.data.vector_columns`). The label is the column of that name, or
    else the only column of texts, if texts recur.

    Args:
        table: The table.
        name: Name of its file, for messages.
        choice: The person's choice.

    Raises:
        UserError: For a chosen column that is not there, or of the wrong type.
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
    used = {image, label, *(column for column in free if not column.strip() and is_row_number(table, column))}
    if choice.vector or len(vector) == 1 or counted(vector) == list(vector) or len(vector) > MAX_COLUMNS:
        used |= set(vector)  # otherwise each has a name of its own, and is worth a look
    others = tuple(column for column in table.column_names if column not in used)
    return FoundColumns(vector, label, image, others, chosen=bool(choice.vector))


def read_vectors(table: "pyarrow.Table", columns: Sequence[str], name: str) -> np.ndarray:
    """Return the vectors (n × d, float32) in these columns.

    Raises:
        UserError: For lists of different lengths, or a value that is not a finite number; it names column and row.
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


def is_list(column: "pyarrow.ChunkedArray") -> bool:
    """Return whether a column holds lists of numbers."""
    from pyarrow import types

    checks = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if not any(check(column.type) for check in checks):
        return False
    value = column.type.value_type
    return bool(types.is_floating(value) or types.is_integer(value))


def is_numeric(column: "pyarrow.ChunkedArray") -> bool:
    """Return whether a column holds numbers."""
    from pyarrow import types

    return bool(types.is_floating(column.type) or types.is_integer(column.type))


def is_text(column: "pyarrow.ChunkedArray") -> bool:
    """Return whether a column holds texts, dictionary-encoded ones too."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_binary_picture(column: "pyarrow.ChunkedArray") -> bool:
    """Return whether a column holds pictures as bytes, or as Hugging Face keeps them: bytes and a path."""
    from pyarrow import types

    kind = column.type
    if types.is_struct(kind):
        return "bytes" in {field.name for field in kind}
    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _pictures(table: "pyarrow.Table", by_lower_name: dict[str, str]) -> list[str]:
    """Return the columns of pictures, those first whose name says so."""
    pictures = [
        column
        for column in table.column_names
        if is_binary_picture(table.column(column)) or _holds_paths(table.column(column))
    ]
    first = [by_lower_name[key] for key in PICTURE_KEYS if by_lower_name.get(key) in pictures]
    return [*first, *(column for column in pictures if column not in first)]


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
    if not pictures:
        return numeric_vector(table, numeric)
    series = counted(numeric)
    return tuple(series) if len(series) > 1 else ()


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
