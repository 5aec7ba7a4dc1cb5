"""Labels in a file of their own, beside one of vectors: a label per line, an array, or a table with further columns."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmlviz.data.arrow_types import is_text, plain_table
from dmlviz.data.class_names import WHITE_SPACE
from dmlviz.data.columns import clean_columns
from dmlviz.data.csv_file import read_lines
from dmlviz.data.table_file import (
    LABEL_KEYS,
    METADATA,
    SUFFIXES,
    Choice,
    label_column,
    read_labels,
    read_table_file,
    suffix_of,
    without_missing,
)
from dmlviz.errors import UserError
from dmlviz.storage.arrays import NUMBERS, read_array
from dmlviz.storage.csv_table import plain_cell

if TYPE_CHECKING:
    import pyarrow


class FileLabels(NamedTuple):
    """Labels (n), what they are called, the further columns, what is left out of these, and notes on the reading."""

    labels: np.ndarray
    name: str
    columns: "pyarrow.Table | None" = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


HEADERS = (*LABEL_KEYS, "word", "words", "name", "names", "id", "token")


def read_labels_file(path: Path, rows: int, columns: "pyarrow.Table | None", choice: Choice) -> FileLabels:
    """Read the labels of so many vectors, and their further columns.

    Args:
        path: npy, txt, or a table with as many rows as vectors. In a file with a label per line, one line more is the
            header, and an empty line is a row without a label.
        rows: The number of vectors.
        columns: Columns that the vectors have already, beside which those of the file stand.
        choice: The column of labels, and the texts that stand for none.

    Raises:
        UserError: For another number of labels, or a table that does not say which column they are.
    """
    suffix = suffix_of(path)
    if not path.is_file():
        raise UserError(f"There is no file {path}: check the path.")
    if suffix == ".npy":
        array = read_array(path, f"{NUMBERS}SU")
        assert array is not None
        return FileLabels(without_missing(array, choice.missing), path.name)
    if suffix not in (".txt", *SUFFIXES):
        raise UserError(
            f"A file of labels ends in .npy, .txt, {', '.join(SUFFIXES[:6])}; got {path.name}: save it as one of "
            "these, a label per line."
        )
    if suffix == ".txt" or suffix.startswith((".csv", ".tsv")):
        lines = read_lines(path)
        marks = "\t" if suffix != ".csv" else "\t,;|"
        unquoted = re.sub(r'"[^"]*"', "", "".join(line.strip() for line in lines[:2]))
        if not any(mark in unquoted for mark in marks):
            return _one_column(path.name, lines, rows, choice)
    table, notes = read_table_file(path, replace(choice, vector=()))
    label = choice.label or label_column(table)
    texts = [column for column in table.column_names if is_text(table.column(column))]
    if label is None and (table.num_columns == 1 or len(texts) == 1):
        label = texts[0] if texts else table.column_names[0]
    if label not in table.column_names:
        raise UserError(
            f"One column of a file of labels is called label or class; those of {path.name} are "
            f"{', '.join(table.column_names[:8])}: rename one, or choose it with --label."
        )
    assert label is not None
    labels = read_labels(table, label, path.name, choice.missing)
    if len(labels) != rows:
        raise _other_length(path.name, len(labels), rows)
    columns, left_out, more = clean_columns(_side_by_side(columns, table.drop_columns(label)))
    return FileLabels(labels, f"{label} of {path.name}", columns, tuple(left_out), (*notes, *more))


def _side_by_side(first: "pyarrow.Table | None", second: "pyarrow.Table") -> "pyarrow.Table":
    import pyarrow

    if first is None:
        return second
    names = [*first.column_names, *second.column_names]
    return plain_table(pyarrow.Table.from_arrays([*first.columns, *second.columns], names))[0]


def _one_column(name: str, whole: list[str], rows: int, choice: Choice) -> FileLabels:
    given, lines = len(whole), [line.strip() for line in whole]
    merged = len(set(lines) - {""}) < len({line for line in whole if line.strip()})
    if name.lower() != METADATA:
        lines = [
            line[1:-1].replace('""', '"') if len(line) > 1 and line[0] == line[-1] == '"' else line for line in lines
        ]
    if len(lines) == rows + 1 and not lines[-1] and lines[0].lower() not in HEADERS:
        lines = lines[:-1]  # an empty line at the end of the file, not a row without a label under a header
    while len(lines) > rows + 1 and not lines[-1]:
        lines = lines[:-1]
    header = len(lines) == rows + 1
    if len(lines) - header != rows or (not header and lines[0].lower() in HEADERS and lines.count(lines[0]) == 1):
        raise _other_length(name, given, rows)
    labels = [None if line in ("", *choice.missing) else plain_cell(line) for line in lines[header:]]
    first = f"the lines of {name} after its header {lines[0][:40]!r}" if header else f"all lines of {name}"
    return FileLabels(np.array(labels, object), first, notes=(WHITE_SPACE,) if merged else ())


def _other_length(name: str, labels: int, rows: int) -> UserError:
    return UserError(
        f"Each vector has one label; {name} has {labels:,} lines or rows for {rows:,} vectors: make the two equally "
        "long. A header may come first, and an empty line is a row without a label."
    )
