"""Vectors as texts: in cells, as pandas, NumPy and databases write them; word vectors, ARFF and svmlight files."""

import csv
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.data.table_limits import check_size
from dmlviz.data.text_columns import is_number, plain_numbers, typed_columns
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

SEEN = 100  # rows that decide whether texts are vectors
LEAST = 3  # numbers of a text without brackets
EXCEL_LIMIT = 32_767  # characters of a cell, after which Excel cuts
NOTHING = ("", "nan", "NaN", "None", "null", "NULL", "NA")
_PAIRS = {"[": "]", "{": "}", "(": ")"}
_BETWEEN = str.maketrans("[]{}(),;|", " " * 9)
_BRACKET = re.compile(r"[\[{(]")
_TIGHT = re.compile(r"[\d.],[-+.\d]")  # 1,5
_WIDE = re.compile(r"[\d.](,?\s+|\s*[;|]\s*)[-+.\d]")  # 1, 5 or 1 5 or 1; 5
_WORD = re.compile(r"[A-Za-z_.]{0,20}")
_SCALAR = re.compile(r"\bn(?:p|umpy)\.float\d\d\b")  # [np.float64(0.1), …], as NumPy 2 prints a list of its numbers


def word_vectors(lines: Sequence[str], name: str) -> "pyarrow.Table":
    """Return the words and vectors of the lines of word2vec, GloVe or fastText: a word and its numbers.

    Raises:
        UserError: For a line that has another number of numbers; it names the line.
    """
    import pyarrow

    first = lines[0].split() if lines else []
    head = len(first) == 2 and all(word.isdecimal() for word in first)  # how many there are, and of how many numbers
    size = int(first[1]) if head else len(first) - 1
    words, vectors = [], []
    for number, line in enumerate(lines[head:], 1 + head):
        word, *values = line.rstrip().rsplit(" ", size) if size > 0 else [line]
        try:
            vectors.append(np.array([plain_numbers(value) for value in values], np.float32))
        except ValueError:
            values = []
        if len(values) != size or not values:
            raise UserError(
                f"A line of word vectors is a word and {max(size, 1):,} numbers; line {number:,} of {name} is "
                f"{line[:40]!r}: correct it."
            )
        words.append(word)
    return pyarrow.table({"word": words, "vector": pyarrow.array(vectors, pyarrow.list_(pyarrow.float32()))})


def looks_like_a_vector(text: str) -> bool:
    """Return whether a text begins as a vector does, even if it is cut off: a bracket, then two numbers.

    A number alone in brackets is none: (3.20) is a loss in accounting, [7] a reference.
    """
    text = plain_numbers(_SCALAR.sub("", text[:1000])) + text[1000:]
    begin, text = _begin(text), text.rstrip()
    if begin < 0 or (text[-1] in _PAIRS.values() and text[-1] != _PAIRS[text[begin]]):  # (0, 1] is an interval
        return False
    words = text[begin : begin + 500].translate(_BETWEEN).split()
    return len(words) > 1 and _is_float(words[0]) and _is_float(words[1])


def parse_text_vectors(table: "pyarrow.Table", name: str) -> "pyarrow.Table":
    """Return the table with columns of vectors as texts as lists of numbers.

    Raises:
        UserError: For a column of such texts in which one is none; it names column and row.
    """
    import pyarrow
    from pyarrow import types

    for number, (column, values) in enumerate(zip(table.column_names, table.columns, strict=True)):
        kind = values.type.value_type if types.is_dictionary(values.type) else values.type
        if not (types.is_string(kind) or types.is_large_string(kind)):
            continue
        samples = [text for text in values.slice(0, SEEN).to_pylist() if text is not None and text not in NOTHING]
        if not _are_vectors(samples):
            continue
        vectors = [_parse(text, row, column, name) for row, text in enumerate(values.to_pylist(), start=1)]
        table = table.set_column(number, column, pyarrow.array(vectors, pyarrow.list_(pyarrow.float64())))
    return table


def _are_vectors(samples: Sequence[str]) -> bool:
    if not samples:
        return False
    if sum(map(looks_like_a_vector, samples)) * 2 > len(samples):
        return True
    counts = {_count(text) for text in samples}  # without brackets all are equally long
    return len(counts) == 1 and min(counts) >= LEAST and not all(map(is_number, samples))  # 1,234,567


def _count(text: str) -> int:
    """Return how many numbers a text without brackets has; 0 if it holds anything else."""
    words = plain_numbers(text).translate(_BETWEEN).split()
    return len(words) if all(map(_is_float, words)) else 0


def _begin(text: str) -> int:
    """Return where the numbers of a text begin, after a bracket and perhaps a word before it; -1 if nowhere."""
    word = _WORD.match(text.lstrip())
    begin = len(text) - len(text.lstrip()) + (word.end() if word else 0)
    return begin if text[begin : begin + 1] in tuple(_PAIRS) else -1


def _parse(text: str | None, row: int, column: str, name: str) -> np.ndarray | None:
    if text is None or text.strip() in NOTHING:
        return None
    text = plain_numbers(_SCALAR.sub("", text))
    begin = _begin(text)
    inside = text
    if begin >= 0:  # the first bracket in a word such as tensor( … ) is inside
        begin = text.find("[", begin) if "[" in text[begin:] else begin
        end = text.rfind(_PAIRS[text[begin]])
        if end < begin:
            cut = f", after {EXCEL_LIMIT:,} characters, as Excel does" if len(text) >= EXCEL_LIMIT else ""
            raise _refused(column, name, row, f"cut off{cut}")
        inside = text[begin : end + 1]
        if _BRACKET.search(inside.lstrip("[{( ")) and not inside[1:].lstrip().startswith(tuple(_PAIRS)):
            raise _refused(column, name, row, f"{text[:40]!r}, of several lists, as a sparse vector has")
    if inside.count(", ") < inside.count(",") and _TIGHT.search(inside) and _WIDE.search(inside):
        raise _refused(column, name, row, f"{text[:40]!r}, with commas between numbers or in them")
    inside = inside.translate(_BETWEEN)
    try:  # other spaces part thousands
        return np.array(inside.split() if inside.isascii() else re.findall("[^ \t\r\n]+", inside), np.float64)
    except ValueError:
        raise _refused(column, name, row, "shortened with …" if "..." in text else f"{text[:40]!r}") from None


def _refused(column: str, name: str, row: int, what: str) -> UserError:
    return UserError(
        f"Column {column} of {name} holds vectors as texts; that in row {row:,} is {what}: save the table as Parquet, "
        "which keeps lists of numbers."
    )


def _is_float(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


_ATTRIBUTE = re.compile(r"""\s*@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(\S+)""", re.IGNORECASE)
_VALUE = r"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|inf|nan|infinity)"
_SPARSE = re.compile(rf"(?:{_VALUE}(?:\s+(?:qid:[0-9]+|[0-9]+:{_VALUE}))*(?:\s+#.*)?|#.*)?", re.IGNORECASE)


def read_arff(lines: Sequence[str], name: str, missing: Sequence[str] = ()) -> tuple["pyarrow.Table", list[str]]:
    """Return the rows of an ARFF file, of which "?" is nothing, with notes; texts and dates are read, too.

    Raises:
        UserError: For sparse rows, and for a row with more or fewer values than there are attributes.
    """
    import pyarrow

    data = next((at for at, line in enumerate(lines) if line.strip().lower() == "@data"), len(lines))
    matches = [match for line in lines[:data] if (match := _ATTRIBUTE.match(line))]
    names = [re.sub(r"\\(.)", r"\1", match[1].strip("'\"")) for match in matches]
    body = [line for line in lines[data + 1 :] if line.strip() and not line.lstrip().startswith("%")]
    quote = '"' if sum(line.count('"') for line in body) > sum(line.count("'") for line in body) else "'"
    rows = list(csv.reader(body, quotechar=quote, escapechar="\\", skipinitialspace=True))
    for number, row in enumerate(rows, 1):
        if len(row) != len(names) or row[0].startswith("{"):
            raise UserError(
                f"A row of ARFF has a value for each of its attributes; {name} has {len(names):,}, and row {number:,} "
                f"is {body[number - 1][:40]!r}: correct it, or save it dense."
            )
    numbers = [match[2].lower() in ("numeric", "real", "integer") for match in matches]
    texts = [column.lower() for column, number in zip(names, numbers, strict=True) if not number]
    columns = [pyarrow.array([row[at] for row in rows], "string") for at in range(len(names))]
    return typed_columns(pyarrow.table(columns, names), texts, ("?", *missing))


def read_svmlight(lines: Sequence[str], name: str) -> "pyarrow.Table":
    """Return the labels and vectors of a file of svmlight or libsvm, and the query of each row if it has one.

    Raises:
        UserError: For more rows or dimensions than a table may have, and for a row that holds anything else.
    """
    import pyarrow
    from sklearn.datasets import load_svmlight_file

    lines = [plain_numbers(line.strip()) for line in lines]
    for row, line in enumerate(lines, 1):
        if not _SPARSE.fullmatch(line):
            raise UserError(
                f"A row of svmlight is a label and numbers with their places, as 1 3:0.5; row {row:,} of {name} is "
                f"{line[:40]!r}: correct it."
            )
    matrix, labels, queries = load_svmlight_file(io.BytesIO("\n".join(lines).encode()), query_id=True)
    check_size(name, *matrix.shape)
    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(matrix.toarray().ravel()), matrix.shape[1])
    return pyarrow.table({"label": labels, "vector": vectors} | ({"qid": queries} if len(queries) else {}))
