"""Write tables as CSV: text that a spreadsheet would read as a formula is marked as text. All CSV files are made here.

A cell that begins with =, +, -, @, a tab or a line end is a formula for most spreadsheets, no matter who wrote it: the
name of a class in an imported file could call a program. Such a text gets an apostrophe in front, as a person would
type it. Numbers stay, also those in a column of texts: -1.5 is no formula.
"""

import re
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

_FORMULA = r"^[=+\-@\t\r\n]"
_MARKED = r"^'([=+\-@\t\r\n])"
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$"


def safe_cell(value: object) -> object:
    r"""Return a cell's value, a text that a spreadsheet would calculate with an apostrophe in front.

    Examples:
        >>> [safe_cell(value) for value in ("=1+1", "-1.5", -1.5, "@x", "cat")]
        ["'=1+1", '-1.5', -1.5, "'@x", 'cat']
    """
    is_formula = isinstance(value, str) and re.match(_FORMULA, value) and not re.fullmatch(_NUMBER, value)
    return f"'{value}" if is_formula else value


def plain_cell(value: object) -> object:
    """Return a cell's value without the apostrophe of `safe_cell`."""
    return value[1:] if isinstance(value, str) and re.match(_MARKED, value) else value


def plain_column(texts: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
    """Return a column of texts, each as `plain_cell`."""
    from pyarrow import compute

    return compute.replace_substring_regex(texts, _MARKED, r"\1")


def write_csv(table: "pyarrow.Table", file: IO[bytes]) -> None:
    """Write a table as CSV (RFC 4180, UTF-8) with a header, each text and each name of a column as `safe_cell`."""
    import pyarrow
    from pyarrow import compute, csv

    def safe(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
        texts = column.cast("string") if pyarrow.types.is_dictionary(column.type) else column
        if not (pyarrow.types.is_string(texts.type) or pyarrow.types.is_large_string(texts.type)):
            return texts
        stays = compute.match_substring_regex(texts, _NUMBER)
        return compute.if_else(stays, texts, compute.replace_substring_regex(texts, f"({_FORMULA})", r"'\1"))

    names = [str(safe_cell(name)) for name in table.column_names]
    plain = pyarrow.table([safe(column) for column in table.columns], names)
    csv.write_csv(plain, file, csv.WriteOptions(quoting_style="needed"))
