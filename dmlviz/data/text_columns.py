"""Types of a text table's columns, decided over all rows: whole numbers, numbers, dates, else texts as they are."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmlviz.storage.csv_table import plain_column

if TYPE_CHECKING:
    import pyarrow

# What programs write for "no number". In a column of texts these are texts.
NO_NUMBER = (
    *("", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "?"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
_MINUS = "\u2212\u2013"  # of matplotlib and Wikipedia, and of Word
_FORTRAN = r"([0-9]\.[0-9]*|\.[0-9]+)[dD]([-+]?[0-9])"  # 1.5D-03; codes such as 1D3 have no point
_SPACES = "'\u2019 \u00a0\u2007\u2009\u202f"  # that part thousands in Switzerland, France and elsewhere


def _number(mark: str, part: str, letters: str) -> str:
    parts = rf"[{part}{_SPACES}]"
    whole = rf"([0-9]+|[1-9][0-9]{{0,2}}({parts}[0-9]{{3}})+|[1-9][0-9]?({part}[0-9]{{2}})+{part}[0-9]{{3}})"
    sign, power = f"[-+{_MINUS}]?", f"[-+{_MINUS}]?[0-9]+"
    return rf"^{sign}({whole}([eE]{power})?|({whole}{mark}[0-9]*|{mark}[0-9]+)([{letters}]{power})?)$"


_POINT = _number(r"\.", ",", "eEdD")  # 1,234.50, in India 12,34,567.5
_COMMA = _number(",", r"\.", "eE")  # 1.234,50; 1,234 and 1.234 are both
_IS_NUMBER = re.compile(f"{_POINT}|{_COMMA}|^[-+{_MINUS}]?inf(inity)?$", re.IGNORECASE)
_CODE = r"^[-+]?0[0-9]"  # 007 is no number
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"


def is_number(text: str) -> bool:
    """Return whether a text is a number, with a point or a comma."""
    return _IS_NUMBER.match(text) is not None


def is_date(text: str) -> bool:
    """Return whether a text is a date, or begins with one."""
    return re.match(_DATE, text) is not None


def plain_numbers(text: str) -> str:
    """Return a text of numbers as `float` reads them: with hyphens as minus signs, and e before exponents."""
    text = text if text.isascii() else re.sub(f"[{_MINUS}]", "-", text)
    return re.sub(_FORTRAN, r"\1e\2", text) if "D" in text or "d" in text else text


def typed_columns(
    table: "pyarrow.Table", texts: Sequence[str] = (), missing: Sequence[str] = (), delimiter: str = ","
) -> tuple["pyarrow.Table", list[str]]:
    """Return a table of texts with its numbers and dates as such, and notes on what is no matter of course.

    A column is of numbers if all its cells are. Numbers may have separators of thousands, and points or commas as
    decimal marks: one mark in the whole table, unless a column can only be read with the other.

    Args:
        table: All columns are texts.
        texts: Names of columns, in lower case, that stay texts.
        missing: Texts that stand for nothing, besides an empty cell.
        delimiter: What delimits the cells of the file.
    """
    import pyarrow

    columns = [_cells(column, missing) for column in table.columns]
    names = table.column_names
    notes = [
        f"Values of column {name} that differ only by white space around them are taken as equal."
        for name, column, raw in zip(names, columns, table.columns, strict=True)
        if not column.equals(raw) and _merged(raw)
    ]
    typed, comma, point, fixed = [], [], False, set()
    for number, column in enumerate(columns):
        kept = column
        if names[number].lower() not in texts:
            kept = _direct(column)
            if kept is column and any(_all_match(column, pattern) for pattern in (_POINT, _COMMA)):
                columns[number] = column = _plain(column)
                kept = _direct(column)
        typed.append(column if kept is None else kept)
        if kept is None or names[number].lower() in texts:
            fixed.add(number)
        elif kept is column and _all_match(column, _COMMA):
            comma.append(number)
        elif pyarrow.types.is_floating(kept.type):
            point = point or _has(column.slice(0, 1000), _POINT, _COMMA)
    clear = [number for number in comma if _has(columns[number], _COMMA, _POINT)]
    in_file = not point and bool(clear or (delimiter != "," and comma))
    read = [*clear, *(comma if in_file else [])]
    for number, column in enumerate(columns):
        if typed[number] is column and number not in fixed:
            if number in read:
                typed[number] = _parsed(column, ".", ",")
            elif _all_match(column, _POINT):
                typed[number] = _parsed(column, ",", ".")
            else:
                typed[number] = _dates(column)
        elif in_file and pyarrow.types.is_floating(typed[number].type) and _all_match(column, _COMMA):
            typed[number] = _parsed(column, ".", ",")
    if read:
        some = "" if in_file else f": {', '.join(names[number] for number in sorted(set(read))[:8])}"
        notes.append(f"Numbers are read with decimal commas{some}.")
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        odd = None if typed[number] is not column or number in fixed else odd_cell(column)
        if odd is not None:
            notes.append(f"Column {name} is read as texts, not as numbers: row {odd[0] + 1:,} has {odd[1]!r}.")
    finished = [plain_column(column) if column.type == pyarrow.string() else column for column in typed]
    return pyarrow.table(finished, names), notes


def odd_cell(column: "pyarrow.ChunkedArray") -> tuple[int, str] | None:
    """Return row and text of the first cell that is no number, in a column of texts where most cells are numbers."""
    from pyarrow import compute

    is_one = compute.match_substring_regex(column, f"{_POINT}|{_COMMA}")
    share = compute.mean(is_one.cast("float64")).as_py()
    if share is None or not 0.5 < share < 1:
        return None
    row = compute.index(is_one, False).as_py()
    return row, column[row].as_py()[:40]


def _cells(column: "pyarrow.ChunkedArray", missing: Sequence[str]) -> "pyarrow.ChunkedArray":
    """Return cells without the white space around them, nothing where they are empty."""
    from pyarrow import array, compute

    column = compute.utf8_trim_whitespace(column)
    return _without(column, array(["", *missing]))


def _merged(column: "pyarrow.ChunkedArray") -> bool:
    """Return whether texts become equal without the white space around them; of those of nothing else, none does."""
    from pyarrow import compute

    texts = column.unique()
    texts = texts.filter(compute.greater(compute.utf8_length(compute.utf8_trim_whitespace(texts)), 0))
    return len(compute.utf8_trim_whitespace(texts).unique()) < len(texts) and not _all_match(column, _POINT)


def _without(column: "pyarrow.ChunkedArray", words: "pyarrow.Array") -> "pyarrow.ChunkedArray":
    from pyarrow import compute, scalar

    is_none = compute.is_in(column, value_set=words)
    return compute.if_else(is_none, scalar(None, "string"), column) if compute.any(is_none).as_py() else column


def _direct(column: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray | None":
    """Return a column of numbers that are written with points and without parts; None for codes, another as it is."""
    import pyarrow
    from pyarrow import array

    cells = _without(column, array(NO_NUMBER))
    if cells.null_count == len(cells):
        return column
    for kind in (pyarrow.int64(), pyarrow.float64()):
        try:
            numbers = cells.cast(kind)
        except pyarrow.ArrowInvalid:
            continue
        if kind == pyarrow.int64():
            is_code = _matches(cells, _CODE)
        else:  # as int64 they failed: with 19 digits or more, whole numbers are names
            is_code = _matches(cells, "^[-+]?[0-9]{19}") and _all_match(cells, "^[-+]?[0-9]+$")
        return None if is_code else numbers
    return column


def _plain(column: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
    """Return a column of texts, each as `plain_numbers`."""
    from pyarrow import compute

    return compute.replace_substring_regex(
        compute.replace_substring_regex(column, f"[{_MINUS}]", "-"), _FORTRAN, r"\1e\2"
    )


def _parsed(column: "pyarrow.ChunkedArray", part: str, mark: str) -> "pyarrow.ChunkedArray":
    from pyarrow import array, compute

    cells = compute.replace_substring_regex(_without(column, array(NO_NUMBER)), rf"[{part}{_SPACES}]", "")
    return compute.replace_substring(cells, mark, ".").cast("float64")


def _dates(column: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
    """Return a column of dates (year-month-day) or times in these as such; another as it is."""
    import pyarrow

    if not _all_match(column, _DATE):
        return column
    for kind in (pyarrow.timestamp("us"), pyarrow.timestamp("us", "UTC"), pyarrow.timestamp("ns")):
        try:
            return column.cast(kind)
        except pyarrow.ArrowInvalid:
            continue
    return column


def _matches(column: "pyarrow.ChunkedArray", pattern: str) -> bool:
    from pyarrow import compute

    return bool(compute.any(compute.match_substring_regex(column, pattern)).as_py())


def _all_match(column: "pyarrow.ChunkedArray", pattern: str) -> bool:
    """Return whether all cells match that are not missing, and there are some."""
    from pyarrow import array, compute

    few = _without(column.slice(0, 100), array(NO_NUMBER))  # tells most columns of texts at once
    if not compute.all(compute.match_substring_regex(few, pattern), min_count=0).as_py():
        return False
    cells = _without(column, array(NO_NUMBER))
    return bool(compute.all(compute.match_substring_regex(cells, pattern), min_count=1).as_py())


def _has(column: "pyarrow.ChunkedArray", pattern: str, other: str) -> bool:
    """Return whether some cell matches the one pattern and not the other."""
    from pyarrow import compute

    one, two = compute.match_substring_regex(column, pattern), compute.match_substring_regex(column, other)
    return bool(compute.any(compute.and_(one, compute.invert(two))).as_py())
