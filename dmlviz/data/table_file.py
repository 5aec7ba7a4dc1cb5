"""Tables from CSV, TSV, JSON and Parquet files, and their columns of vectors, pictures, labels and roles."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlviz.data.arrow_types import is_list_type, is_numeric, is_text, leaf_type, numbers_of, plain_table, value_type
from dmlviz.data.class_names import label_text
from dmlviz.data.columns import MAX_COLUMNS
from dmlviz.data.csv_file import read_csv_file, read_lines
from dmlviz.data.hugging_face import with_class_names
from dmlviz.data.json_file import read_json_file
from dmlviz.data.table_limits import MAX_TABLE_BYTES, check_finite, check_size, too_large
from dmlviz.data.text_columns import is_date, is_number, typed_columns
from dmlviz.data.text_vectors import parse_text_vectors, read_arff, read_svmlight, word_vectors
from dmlviz.data.vector_columns import (
    coordinates,
    counted,
    is_list,
    list_column,
    longest_series,
    numeric_vector,
)
from dmlviz.errors import UserError
from dmlviz.ops.precision import to_numbers
from dmlviz.storage.text import one_line

if TYPE_CHECKING:
    import pyarrow

JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
ARROW_SUFFIXES = (".feather", ".arrow", ".orc")
SVM_SUFFIXES = (".svm", ".svmlight", ".libsvm")
SUFFIXES = (
    *(".csv", ".tsv", ".tab", ".parquet", *JSON_SUFFIXES, *ARROW_SUFFIXES, ".vec", ".arff", *SVM_SUFFIXES),
    *(f"{suffix}.gz" for suffix in (".csv", ".tsv", ".tab", *JSON_SUFFIXES)),
)
LABEL_KEYS = ("label", "labels", "class", "classes", "target", "targets", "y")
PICTURE_KEYS = ("image", "picture", "img", "image_path", "path", "file", "file_name", "filename", "image_name")
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".heic", ".heif", ".avif")
TRUTH = {"true", "false"}
METADATA = "metadata.tsv"  # labels and more, as the Embedding Projector takes them
LARGE_FILES = b"version https://git-lfs"  # how a file begins that Git has not fetched


@dataclass(frozen=True)
class Choice:
    """The roles of columns, as a person chose them; None or empty where the names decide.

    Attributes:
        vector: One column of lists, or one column for each dimension; x and y for a map that is given. `emb_*` stands
            for all columns that begin with emb_.
        label: The class.
        image: Pictures: their bytes, or their paths relative to the table.
        missing: Texts that stand for nothing, besides an empty cell.
        pictures: Whether the pictures beside vectors are read.
        folder_level: Of folders of pictures, the number of the level of the classes, from 1.
        points: Whether vectors of two numbers are points of the plane to train on, and not a map to be shown.
    """

    vector: tuple[str, ...] = ()
    label: str | None = None
    image: str | None = None
    missing: tuple[str, ...] = ()
    pictures: bool = True
    folder_level: int | None = None
    points: bool = False


@dataclass(frozen=True)
class FoundColumns:
    """The roles of a table's columns; `others` are all that are left, and numbers that only serve as a vector."""

    vector: tuple[str, ...]
    label: str | None
    image: str | None
    others: tuple[str, ...]
    chosen: bool = False  # the vector, by a person

    def vector_note(self, rows: int, dimensions: int) -> str:
        """Return what the vector is, for the report."""
        names = ", ".join(self.vector)
        if len(self.vector) > 6:
            names = f"{self.vector[0]}, {self.vector[1]}, … {self.vector[-1]}, {len(self.vector)} columns"
        elif len(self.vector) == 1 and dimensions > 1:
            names += f", lists of {dimensions:,} numbers"
        series = longest_series(self.vector)
        is_series = series is not None and series.columns == self.vector
        gaps = f", without {', '.join(series.gaps[:3])}{' …' * (len(series.gaps) > 3)}" if is_series and series else ""
        gaps = gaps if is_series and series and series.gaps else ""
        given = len(self.vector) == 1 or is_series or list(self.vector) == coordinates(self.vector)
        scale = "" if given or self.chosen else ", as they are, not scaled"
        how = f"({rows:,} {'row' if rows == 1 else 'rows'}{'' if self.chosen else '; choose others with --vector'})"
        return f"Vector: {names}{gaps}{scale} {how}."


def suffix_of(path: Path | str) -> str:
    """Return the ending of a file's name in lower case, both where it is packed: ".csv.gz"."""
    path = Path(path)
    name = path.name.lower()
    return max((suffix for suffix in SUFFIXES if name.endswith(suffix)), key=len, default=path.suffix.lower())


def name_stem(path: Path | str) -> str:
    """Return a file's name without its ending."""
    name = Path(path).name
    return name[: len(name) - len(suffix_of(name))] or name


def read_table_file(path: Path, choice: Choice | None = None) -> tuple["pyarrow.Table", list[str]]:
    """Read a table; return it with notes on the reading. Its size is checked before it is parsed.

    Args:
        path: The file.
        choice: Roles of the columns: a label stays a text, and lists that are no vector are not read.

    Raises:
        UserError: For a table that is too large.
    """
    choice, suffix = choice or Choice(), suffix_of(path)
    if suffix == ".parquet":
        table, notes = _parquet(path, choice)
    elif suffix.startswith(JSON_SUFFIXES):
        table, notes = read_json_file(path), []
    elif suffix in ARROW_SUFFIXES:
        table, notes = _arrow(path), []
    elif suffix == ".vec":
        table, notes = word_vectors(read_lines(path), path.name), []
    elif suffix == ".arff":
        table, notes = read_arff(read_lines(path), path.name, choice.missing)
    elif suffix in SVM_SUFFIXES:
        table, notes = read_svmlight(read_lines(path), path.name), []
    else:
        return _text_table(path, choice)
    table, more = prepare_table(table, path.name)
    return table, [*notes, *more]


def prepare_table(table: "pyarrow.Table", name: str) -> tuple["pyarrow.Table", list[str]]:
    """Return a table with plain types, its classes as names and its vectors as lists; and notes on equal names.

    Raises:
        UserError: For vectors that cannot be read from their texts; it names column and row.
    """
    table, notes = plain_table(with_class_names(table))
    return parse_text_vectors(table, name), notes


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
        UserError: For a chosen column that is not there, or of the wrong type; and for a series of columns in which
            one holds no numbers.
    """
    choice = choice or Choice()
    chosen_vector = tuple(column for pattern in choice.vector for column in _named(pattern, table.column_names))
    for chosen in (*chosen_vector, choice.label, choice.image):
        if chosen is not None and chosen not in table.column_names:
            raise UserError(f"{name} has no column {chosen!r}; its columns are {', '.join(table.column_names[:12])}.")
    image = (choice.image or next(iter(_pictures(table)), None)) if choice.pictures else None
    label = choice.label or label_column(table)
    free = [column for column in table.column_names if column not in (image, label)]
    vector = chosen_vector or _vector(table, free, name, pictures=image is not None)
    if label is None:
        label = _recurring_text(table, [column for column in free if column not in vector])
    used = {image, label, *(column for column in free if not column and _is_nothing_or_whole(table.column(column)))}
    if chosen_vector or len(vector) == 1 or counted(vector) == list(vector) or len(vector) > MAX_COLUMNS:
        used |= set(vector)  # otherwise each has a name of its own, and is worth a look
    others = tuple(column for column in table.column_names if column not in used)
    return FoundColumns(vector, label, image, others, chosen=bool(choice.vector))


def read_labels(table: "pyarrow.Table", column: str, name: str, missing: Sequence[str] = ()) -> np.ndarray:
    """Return the labels of a column as Python objects (n); equal ones are one object, those that are missing None.

    Raises:
        UserError: For a column of lists, bytes or records; it names the type.
    """
    from pyarrow import types

    values = table.column(column)
    kind = values.type
    if types.is_nested(kind) or types.is_map(kind):
        raise UserError(
            f"A label is one text or number; column {column} of {name} holds {_type_name(kind)}: choose another column "
            "with --label."
        )
    return without_missing(shared_objects(values), missing)


def without_missing(labels: np.ndarray, missing: Sequence[str]) -> np.ndarray:
    """Return labels, None for those that a person named as missing."""
    if not missing:
        return labels
    return np.array([None if label_text(label) in missing else label for label in labels.ravel().tolist()], object)


def shared_objects(column: Any) -> np.ndarray:
    """Return the values of a column as Python objects; equal ones are one object."""
    codes = column.dictionary_encode() if str(column.type) in ("string", "large_string") else column
    codes = codes.combine_chunks()
    if not hasattr(codes, "dictionary"):
        return np.array(codes.to_pylist(), dtype=object)
    values = np.array([*codes.dictionary.to_pylist(), None], dtype=object)
    rows: np.ndarray = values[np.asarray(codes.indices.fill_null(len(values) - 1))]
    return rows


def read_vectors(table: "pyarrow.Table", columns: Sequence[str], name: str) -> np.ndarray:
    """Return the vectors (n × d, float32 or float64) in these columns.

    Raises:
        UserError: For lists of different lengths, or a value that is not a finite number; it names column and row.
    """
    from pyarrow import types

    lists = [column for column in columns if is_list(table.column(column))]
    if lists and len(columns) > 1:
        raise UserError(
            f"A vector is one column of lists, or several columns of numbers; column {lists[0]} of {name} holds lists: "
            "choose it alone."
        )
    if lists:
        vectors = _from_lists(table.column(lists[0]), lists[0], name)
    else:
        for column in columns:
            kind = table.column(column).type
            if not (is_numeric(table.column(column)) or types.is_boolean(kind)):
                raise UserError(
                    f"A column of a vector holds numbers; column {column} of {name} holds {_type_name(kind)}: choose "
                    "others, or store a list of numbers in each row."
                )
        check_size(name, table.num_rows, len(columns))
        vectors = np.empty((table.num_rows, len(columns)))
        for number, column in enumerate(columns):
            vectors[:, number] = numbers_of(table.column(column)).to_numpy()
    check_finite(vectors, name, columns)
    return vectors


def no_vector(table: "pyarrow.Table", name: str) -> UserError:
    """Return the error of a table without vectors; it names the types of its columns, and a cell that is no number."""
    kinds = [f"{field.name} ({_type_name(field.type)})" for field in table.schema][:8]
    cell = ""
    if (column := next(filter(lambda one: is_text(table.column(one)), table.column_names), None)) is not None:
        cells = enumerate((cell.as_py() for cell in table.column(column)), 1)
        wrong = ((row, text) for row, text in cells if text is not None and not is_number(str(text)))
        cell = next(
            (f" Row {row:,} of column {column} is no number: {one_line(text, 40)!r}." for row, text in wrong), ""
        )
    return UserError(
        f"A table of vectors has columns of numbers; those of {name} are {', '.join(kinds)}: add one column for each "
        f"dimension, or a column of lists of numbers.{cell}"
    )


def is_binary_picture(column: "pyarrow.ChunkedArray") -> bool:
    """Return whether a column may hold pictures as bytes, or as Hugging Face keeps them: bytes and a path."""
    from pyarrow import types

    kind = column.type
    if types.is_struct(kind):
        return "bytes" in {field.name for field in kind}
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def label_column(table: "pyarrow.Table") -> str | None:
    """Return the column whose name says that it is the label; where there are several, one of words before numbers."""
    by_lower_name: dict[str, str] = {column.lower(): column for column in reversed(table.column_names)}
    keys = [key for key in LABEL_KEYS if key in by_lower_name]
    if "x" in by_lower_name and is_numeric(table.column(by_lower_name["x"])):
        keys = [key for key in keys if key != "y"]  # x and y are coordinates
    if {"item", "label", "class", "neighbor_1"} <= by_lower_name.keys():
        return by_lower_name["class"]  # in an exported table of a run, where label is its number
    words = [key for key in keys if _holds_words(table.column(by_lower_name[key]))]
    return by_lower_name[(words or keys)[0]] if keys else None


def _text_table(path: Path, choice: Choice) -> tuple["pyarrow.Table", list[str]]:
    """Read a CSV file: what may be the label is read as texts, and what is not, as numbers where it holds them."""
    chosen = () if choice.label is None else (choice.label.lower(),)
    texts = (*LABEL_KEYS, *chosen)
    quoted = path.name.lower() != METADATA  # which has none
    table, notes = read_csv_file(path, texts, choice.missing, quoted)
    table, more = prepare_table(table, path.name)
    label = choice.label or label_column(table)
    others = [column for column in table.column_names if column.lower() in texts and column != label]
    others = [column for column in others if is_text(table.column(column))]
    typed, _ = typed_columns(table.select(others), missing=choice.missing)
    for column in others:
        table = table.set_column(table.column_names.index(column), column, typed.column(column))
    return table, [*notes, *more]


def _named(pattern: str, names: Sequence[str]) -> Sequence[str]:
    """Return the columns that a name or a pattern with * stands for; the pattern itself where there is none."""
    if pattern in names or "*" not in pattern:
        return [pattern]
    found = [name for name in names if fnmatchcase(name, pattern)]
    series = counted(found)
    return series if len(series) == len(found) else found or [pattern]


def _type_name(kind: "pyarrow.DataType") -> str:
    return str(value_type(kind)).replace("element: ", "").replace("item: ", "").removeprefix("large_")[:60]


def _from_lists(column: "pyarrow.ChunkedArray", title: str, name: str) -> np.ndarray:
    """Return lists of numbers, or lists of such lists (flattened), as vectors (n × d, float32 or float64)."""
    from pyarrow import compute, types

    dimensions, values, nested = 1, column.combine_chunks(), False
    rows = len(values)
    while is_list_type(values.type):
        lengths = np.asarray(compute.list_value_length(values).fill_null(-1))
        if len(lengths) and (lengths != lengths[0]).any():
            wrong = int(np.argmax(lengths != lengths[0]))
            row = wrong // dimensions
            other = "nothing" if lengths[wrong] < 0 else f"{lengths[wrong]:,} numbers"
            inside = " in one of its lists" if nested else ""
            raise UserError(
                f"All vectors have one length; in {name}, column {title} has {max(lengths[0], 0):,} numbers{inside} in "
                f"row 1 and {other} in row {row + 1:,}: make them equal, or choose another column with --vector."
            )
        dimensions *= max(0, int(lengths[0])) if len(lengths) else 0
        check_size(name, rows, dimensions)
        values, nested = values.flatten(), True
    numbers = values.cast("float64") if types.is_decimal(values.type) else values
    return to_numbers(numbers).reshape(rows, dimensions)


def _pictures(table: "pyarrow.Table") -> list[str]:
    """Return the columns of pictures, those first whose name says so."""
    by_lower_name = {column.lower(): column for column in reversed(table.column_names)}
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


def _vector(table: "pyarrow.Table", free: list[str], name: str, pictures: bool) -> tuple[str, ...]:
    filled = [column for column in free if table.column(column).null_count < table.num_rows]
    column = list_column([table.schema.field(column) for column in filled])
    return (column,) if column is not None else numeric_vector(table, free, name, pictures)


def _holds_words(column: "pyarrow.ChunkedArray") -> bool:
    texts = [text for text in column.slice(0, 100).to_pylist() if text] if is_text(column) else []
    return bool(texts) and not all(map(is_number, texts))


def _is_nothing_or_whole(column: "pyarrow.ChunkedArray") -> bool:
    from pyarrow import types

    return column.null_count == len(column) or (types.is_integer(column.type) and not column.null_count)


def _recurring_text(table: "pyarrow.Table", columns: list[str]) -> str | None:
    """Return the only column of texts that can be classes: of words that recur, no dates; truth values if need be."""
    values = {one: set(table[one].unique().to_pylist()) - {None, ""} for one in columns if is_text(table[one])}
    most = max(1, table.num_rows // 2)
    words = {one: found for one, found in values.items() if 0 < len(found) <= most and not all(map(is_date, found))}
    several = [one for one, found in words.items() if len(found) > 1 and not {*map(str.lower, found)} <= TRUTH]
    texts = several or list(words)
    return texts[0] if len(texts) == 1 else None


def _arrow(path: Path) -> "pyarrow.Table":
    """Read a file of Arrow, of a stream or of Feather, or an ORC file."""
    from pyarrow import ArrowInvalid, feather, ipc, orc

    if path.stat().st_size > MAX_TABLE_BYTES:
        raise too_large(path.name, path.stat().st_size)
    if suffix_of(path) == ".orc":
        return orc.read_table(str(path))
    try:
        return feather.read_table(str(path), memory_map=False)
    except ArrowInvalid:
        with ipc.open_stream(path.read_bytes()) as stream:
            return stream.read_all()


def _parquet(path: Path, choice: Choice) -> tuple["pyarrow.Table", list[str]]:
    """Read a Parquet file, without the columns of lists that are no vector; these are named in a note."""
    from pyarrow import parquet

    with open(path, "rb") as beginning:
        if beginning.read(len(LARGE_FILES)) == LARGE_FILES:
            raise UserError(f"{path.name} is only a pointer of Git LFS to the file: fetch it with git lfs pull.")
    with parquet.ParquetFile(path) as file:
        metadata, fields = file.metadata, list(file.schema_arrow)
        texts = [field.name for field in fields if str(field.type) == "string"]
        lists = [field.name for field in fields if leaf_type(field.type) is not None]
        vector = {column for pattern in choice.vector for column in _named(pattern, lists)}
        vector = vector or {list_column(fields) or ""}
        left_out = [] if choice.label in lists else [column for column in lists if column not in vector]
        left_out = [column for column in left_out if column.lower() not in LABEL_KEYS]  # which is refused
        check_size(path.name, metadata.num_rows)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        paths = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
        read = [
            i for i, inner in enumerate(paths) if not any(f"{inner}.".startswith(f"{column}.") for column in left_out)
        ]
        values = sum(max((group.column(i).num_values for i in read), default=0) for group in groups)
        check_size(path.name, metadata.num_rows, max(1, values // max(1, metadata.num_rows)))  # in lists
        check_size(path.name, metadata.num_rows, max(0, len(read) - MAX_COLUMNS))
        size = sum(group.column(i).total_uncompressed_size for group in groups for i in read)
        if size > MAX_TABLE_BYTES:
            raise too_large(path.name, size)
    names = [field.name for field in fields if field.name not in left_out]
    with parquet.ParquetFile(path, read_dictionary=texts) as file:  # a long text that is repeated is read once
        table = file.read(columns=names) if left_out else file.read()
    kinds = {field.name: _type_name(field.type) for field in fields}
    shown = ", ".join(f"{column} ({kinds[column]})" for column in left_out)
    return table, [f"Lists left out: {shown}; choose the vector with --vector."] if left_out else []
