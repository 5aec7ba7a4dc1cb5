"""Tables in text files: their encoding, delimiter and decimal commas."""

import codecs
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dmlviz.data.table_limits import MAX_VECTORS, check_size, too_many
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

MAX_LINE = 1_000_000  # characters
MAX_LINES_PER_ROW = 10
SEEN = 100  # lines that decide between decimal points and decimal commas
DELIMITERS = (",", "\t", ";", "|")  # the first of those that are as frequent
WESTERN = "cp1252"  # what Excel writes in Western Europe and America, where it does not write UTF-8


def read_csv_file(path: Path, max_columns: int) -> tuple["pyarrow.Table", list[str]]:
    """Read a table of text; return it with notes on the reading.

    Args:
        path: The file: CSV or TSV, in UTF-8, UTF-16 or Windows-1252; delimited by commas, tabs, semicolons or bars.
        max_columns: Columns that it may have beside a vector.

    Raises:
        UserError: For a table that is too large.
    """
    from pyarrow import csv

    encoding, lines = _encoding(path)
    if lines > MAX_LINES_PER_ROW * MAX_VECTORS:  # a quoted text may hold some line ends
        raise too_many(path.name, lines, 1)
    with open(path, encoding=encoding, errors="replace") as file:
        head = [file.readline(MAX_LINE) for _ in range(SEEN)]
    if any(len(line) == MAX_LINE for line in head):
        raise UserError(f"A line of a table has up to {MAX_LINE:,} characters; {path.name} has a longer one: cut it.")
    header = re.sub(r'"[^"]*"', "", head[0])
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(DELIMITERS, key=header.count)
    check_size(path.name, 1, header.count(delimiter) - max_columns)
    decimal = _decimal_mark(head, delimiter)
    headless = all(is_number(part.replace(decimal, ".")) for part in head[0].strip().split(delimiter)[1:-1] or [""])
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(autogenerate_column_names=headless, encoding=encoding),
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(decimal_point=decimal),
    )
    notes = []
    if encoding == WESTERN:
        notes.append(f"{path.name} is not UTF-8 and was read as Windows-1252: save it as UTF-8 if letters are wrong.")
    if decimal == ",":
        notes.append("Numbers are read with decimal commas.")
    return table, notes


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _encoding(path: Path) -> tuple[str, int]:
    """Return the encoding of a file, and the number of its lines."""
    lines, decoder, encoding = 0, codecs.getincrementaldecoder("utf-8")(), "utf-8"
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            if not lines and part.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                encoding = "utf-16"
            lines += part.count(b"\n")
            if encoding == "utf-8":
                try:
                    decoder.decode(part)
                except UnicodeDecodeError:
                    encoding = WESTERN
    return encoding, lines


def _decimal_mark(head: list[str], delimiter: str) -> str:
    """Return a comma if some cells are numbers with a comma and none is a number with a point."""
    if delimiter == ",":
        return "."
    cells = [cell.strip().strip('"') for line in head for cell in line.split(delimiter)]
    with_comma = any(re.fullmatch(r"[-+]?\d+,\d+([eE][-+]?\d+)?", cell) for cell in cells)
    with_point = any(re.fullmatch(r"[-+]?\d*\.\d+([eE][-+]?\d+)?", cell) for cell in cells)
    return "," if with_comma and not with_point else "."
