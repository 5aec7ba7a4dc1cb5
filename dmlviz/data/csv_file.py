"""Tables in text files: encoding, delimiter, comments, header. Cells are read as texts, then typed by column."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from dmlviz.data.table_limits import MAX_DIMENSIONS, MAX_TABLE_BYTES, MAX_VECTORS, open_unpacked, too_large, too_many
from dmlviz.data.text_columns import NO_NUMBER, is_number, typed_columns
from dmlviz.data.text_vectors import looks_like_a_vector
from dmlviz.errors import UserError
from dmlviz.storage.csv_table import plain_cell

if TYPE_CHECKING:
    import pyarrow

MAX_LINE = 1_000_000  # characters
MAX_LINES_PER_ROW = 10
SEEN = 100  # lines that decide what delimits cells, and whether the first is a header
DELIMITERS = ("\t", ";", "|", ",")  # the first of those that are in every line alike
WESTERN = "cp1252"  # what Excel writes in Western Europe and America, where it does not write UTF-8
_ESCAPED = re.compile(rb'\\"[^,;|\t\r\n"]')  # a quote as Spark and MySQL write it: RFC 4180 doubles it
_HINT = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # Excel's first line
_ORANGE = ("c", "continuous", "d", "discrete", "s", "string", "t", "time", "i", "ignore", "")
_DATE = re.compile(r"\d{4}-\d\d-\d\d.*")
_FILE = re.compile(r".*\.(png|jpe?g|webp|bmp|gif)", re.IGNORECASE)


@dataclass(frozen=True)
class _Form:
    """How a file is written: what delimits cells, lines before the first row, names of columns, what was noticed."""

    delimiter: str
    escape: str | None
    skipped: int
    names: list[str]
    notes: list[str]


def read_csv_file(
    path: Path, texts: Sequence[str] = (), missing: Sequence[str] = (), quoted: bool = True
) -> tuple["pyarrow.Table", list[str]]:
    """Read a table of text; return it with notes on the reading. Large files are read as small ones are.

    Args:
        path: The file: CSV or TSV, perhaps packed by gzip, in UTF-8, UTF-16 or Windows-1252; delimited by commas, tabs,
            semicolons, bars or single spaces.
        texts: Names of columns, in lower case, that stay texts even if they are numbers.
        missing: Texts that stand for nothing, besides an empty cell.
        quoted: Whether quotes around a cell are no part of it.

    Raises:
        UserError: For a table that is too large, and for a row with more or fewer cells than the others.
    """
    import pyarrow
    from pyarrow import csv as arrow_csv

    encoding, lines, escaped = _encoding(path)
    if lines > MAX_LINES_PER_ROW * MAX_VECTORS:  # a quoted text may hold some line ends
        raise too_many(path.name, lines)
    form = _form(path, encoding, quoted, "\\" if quoted and escaped else None)
    if len(form.names) > 2 * MAX_DIMENSIONS:
        raise UserError(f"A table has up to {2 * MAX_DIMENSIONS:,} columns; {path.name} has {len(form.names):,}.")
    numbers = [str(number) for number in range(len(form.names))]  # names may be equal
    bad_rows: list[arrow_csv.InvalidRow] = []

    def note_bad_row(row: "arrow_csv.InvalidRow") -> str:
        bad_rows.append(row)
        return "error"

    try:
        with open_unpacked(path) as file:
            table = arrow_csv.read_csv(
                file,
                arrow_csv.ReadOptions(
                    use_threads=False,  # which numbers the rows
                    skip_rows=form.skipped,
                    column_names=numbers,
                    encoding=encoding,
                    block_size=4 * MAX_LINE,
                ),
                arrow_csv.ParseOptions(
                    delimiter=form.delimiter,
                    quote_char='"' if quoted else False,
                    escape_char=form.escape or False,
                    newlines_in_values=quoted,
                    ignore_empty_lines=len(numbers) > 1,
                    invalid_row_handler=note_bad_row,
                ),
                arrow_csv.ConvertOptions(column_types=dict.fromkeys(numbers, pyarrow.string())),
            )
    except pyarrow.ArrowInvalid:
        if not bad_rows:
            raise
        row = bad_rows[0]
        where = "" if row.number is None else f"row {row.number - form.skipped:,}"
        raise UserError(
            f"Every row of a table has as many cells as there are columns; {path.name} has {row.expected_columns:,} "
            f"columns, and {where or 'a row'} ({row.text[:40]!r}) has {row.actual_columns:,} cells: correct it, or "
            "put texts that hold the delimiter into quotes."
        ) from None
    table, empty = _without_empty_rows(table)
    notes = list(form.notes)
    if empty:
        notes.append(f"Rows left out at the end, as all their cells are empty: {empty:,}.")
    if form.escape:
        notes.append('Quotes in texts are written \\" in it; a backslash before another character is left away, too.')
    if encoding == WESTERN:
        notes.append(f"{path.name} is not UTF-8 and was read as Windows-1252: save it as UTF-8 if letters are wrong.")
    table, more = typed_columns(table.rename_columns(form.names), texts, missing, form.delimiter)
    return table, [*notes, *more]


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file."""
    encoding, lines, _ = _encoding(path)
    if lines > MAX_LINES_PER_ROW * MAX_VECTORS:
        raise too_many(path.name, lines)
    with _open_text(path, encoding) as file:
        return file.read().splitlines()


def _encoding(path: Path) -> tuple[str, int, bool]:
    """Return the encoding of a file, the number of its lines, and whether quotes in it are escaped by a backslash."""
    lines, size, decoder, encoding, escaped = 0, 0, codecs.getincrementaldecoder("utf-8")(), "utf-8", False
    with open_unpacked(path) as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            if not lines and part.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                encoding = "utf-16"
            elif not lines and (part[1:4:2] == b"\0\0" or part[:3:2] == b"\0\0"):  # without a mark at its beginning
                encoding = "utf-16-le" if part[1:2] == b"\0" else "utf-16-be"
            escaped = escaped or _ESCAPED.search(part) is not None
            lines, size = lines + part.count(b"\n"), size + len(part)
            if size > MAX_TABLE_BYTES:
                raise too_large(path.name, size)
            if encoding == "utf-8":
                try:
                    decoder.decode(part)
                except UnicodeDecodeError:
                    encoding = WESTERN
    return encoding, lines, escaped


def _open_text(path: Path, encoding: str) -> io.TextIOWrapper:
    name = "utf-8-sig" if encoding == "utf-8" else encoding
    return io.TextIOWrapper(open_unpacked(path), encoding=name, errors="replace", newline="")


def _form(path: Path, encoding: str, quoted: bool, escape: str | None) -> _Form:
    with _open_text(path, encoding) as file:
        lines = [file.readline(MAX_LINE) for _ in range(SEEN)]
    if any(len(line) == MAX_LINE for line in lines):
        raise UserError(f"A line of a table has up to {MAX_LINE:,} characters; {path.name} has a longer one: cut it.")
    lines = [line for line in lines if line]
    hint = _HINT.fullmatch(lines[0]) if lines else None
    begin = 1 if hint else 0
    while begin < len(lines) and not lines[begin].strip():
        begin += 1
    if begin == len(lines):
        raise UserError(
            f"A table has a row for each picture or vector; {path.name} is empty: check how it was written."
        )
    comments = next((count for count, line in enumerate(lines[begin:]) if not line.startswith("#")), 0)
    delimiter = hint[1] if hint else _delimiter(path, lines[begin + comments :])
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    notes = []

    def rows(part: Sequence[str]) -> list[list[str]]:
        try:
            return list(csv.reader(part, delimiter=delimiter, quoting=quoting, escapechar=escape))  # type: ignore[arg-type]
        except csv.Error as error:
            raise UserError(f"{path.name} could not be read as {path.suffix[1:]} ({error}): save it again.") from None

    body = [row for row in rows(lines[begin + comments :]) if row]
    if comments:  # numpy.savetxt writes a header as a comment
        (last,) = rows([re.sub(r"^#\s*", "", lines[begin + comments - 1])])
        last = [last[0] or "#", *last[1:]]
        if _is_header(rows([lines[begin + comments - 1]])[0], body) is None and len(last) == len(body[0]):
            comments, body = 0, rows(lines[begin:])  # a row whose text begins with #
        elif len(last) == len(body[0]) and _is_header(last, body) is not None:
            said = comments - 1
            if said:
                notes.append(f"Lines at the start that are comments (#): {said}.")
            return _Form(delimiter, escape, begin + comments, _names(last, body), notes)
        else:
            notes.append(f"Lines at the start that are comments (#): {comments}.")
    begin += comments
    why = _is_header(body[0], body[1:])
    if why is None:
        width = Counter(len(row) for row in body).most_common(1)[0][0]
        texts = [all(_kind(row[i]) not in ("number", "") for row in body if len(row) == width) for i in range(width)]
        names = [f"text {number}" if text else f"f{number}" for number, text in enumerate(texts)]
        label = _label_of_pixels(body)
        if label is not None:  # as MNIST and the digits of the UCI are passed on
            names[label] = "label"
        shown = [*names[:3], "…"][:width] if label in (None, 0) else [*names[:2], "…", "label"]
        notes.append(f"{path.name} has no row of names; its columns are called {', '.join(shown)}.")
        return _Form(delimiter, escape, begin, names, notes)
    if why:
        notes.append(why)
    orange = len(body) > 3 and path.suffix == ".tab" and all(cell.strip().lower() in _ORANGE for cell in body[1])
    if orange:
        notes.append(
            f"Two rows below the names are types and roles, as Orange writes them: {', '.join(body[1][:3])} …."
        )
        body = [body[0], *body[3:]]
    _check_one_header(path.name, body)
    reader = csv.reader(lines[begin:], delimiter=delimiter, quoting=quoting, escapechar=escape)  # type: ignore[arg-type]
    for _ in range(3 if orange else 1):
        next(reader)
    return _Form(delimiter, escape, begin + reader.line_num, _names(body[0], body[1:]), notes)


def _delimiter(path: Path, lines: Sequence[str]) -> str:
    if path.name.lower().endswith((".tsv", ".tsv.gz", ".tab", ".tab.gz")):
        return "\t"
    plain = re.sub(r'"[^"]*"', "", "".join(lines)).splitlines()
    plain = [line.strip(" \r\n") for line in plain if line.strip()] or [""]
    counts = {delimiter: [line.count(delimiter) for line in plain] for delimiter in DELIMITERS}
    alike = [delimiter for delimiter, found in counts.items() if found[0] and len(set(found)) == 1]
    if alike:
        return alike[0]
    if not any(map(any, counts.values())) and all(" " in line and "  " not in line for line in plain):
        cells = [cell for line in plain[1:] for cell in line.split(" ")]
        if sum(map(is_number, cells)) > len(cells) / 2:
            return " "
    return max((",", "\t", ";", "|"), key=lambda delimiter: counts[delimiter][0])


def _is_header(first: Sequence[str], below: Sequence[Sequence[str]]) -> str | None:
    """Return None if the first row is data like those below; else "", or a sentence where that is no matter of course.

    A row is data where its cells are of the kinds of those below. Numbers that count, such as the names 0, 1, 2 … of
    pandas, are names.
    """
    names, alike = 0, 0
    shift = 1 if below and len(below[0]) == len(first) + 1 else 0  # R names its rows, but not their column
    for number, cell in enumerate(first):
        kinds = Counter(_kind(row[number + shift]) for row in below if len(row) > number + shift)
        del kinds[""]
        kind = kinds.most_common(1)[0][0] if kinds else "text"
        own = _kind(cell)
        if kind == "text" or not own:
            continue
        names, alike = names + (own != kind), alike + (own == kind)
    digits = [int(cell) for cell in map(str.strip, first) if cell.isdecimal() and len(cell) < 10]
    below_cells = [cell.strip() for row in below for cell in row]
    whole = not any(is_number(cell) and not cell.lstrip("+-").isdecimal() for cell in below_cells)
    counts = bool(digits) and all(after == before + 1 for before, after in pairwise(digits))
    if alike and counts and alike <= len(digits) and ((digits[0] == 0 and len(digits) > 1) or not whole):
        shown = ", ".join(map(str, digits[:3])) + (" …" if len(digits) > 3 else "")
        return f"The first row is read as names of columns, as it counts ({shown})."
    return "" if names > alike or not names + alike else None


def _label_of_pixels(rows: Sequence[Sequence[str]]) -> int | None:
    """Return the column of the labels of rows that are a square's pixels and a label; None for others.

    It is the first or the last, whichever changes: a corner of a picture is blank.
    """
    side = round((len(rows[0]) - 1) ** 0.5)
    if side < 8 or side * side + 1 != len(rows[0]) or not all(cell.strip().isdecimal() for row in rows for cell in row):
        return None
    first, last = (len({row[end].strip() for row in rows}) > 1 for end in (0, -1))
    return None if first == last else 0 if first else len(rows[0]) - 1


def _check_one_header(name: str, body: Sequence[Sequence[str]]) -> None:
    """Raise UserError where the first row of data is a second row of names, as pandas writes two levels of them.

    It tells equal names above numbers apart, or is empty where all rows below it are named.
    """
    names = Counter(cell.strip() for cell in body[0])
    second, *below = [row for row in body[1:] if len(row) == len(body[0])] or [[]]
    equal = [i for i, cell in enumerate(body[0]) if cell.strip() and names[cell.strip()] > 1]
    filled = [i for i, cell in enumerate(second) if cell.strip()]
    index = bool(second) and not body[0][0].strip() and not second[0].strip() and all(row[0].strip() for row in below)
    told = [second[i] for i in equal] if second else []
    differ = equal and len({*told}) == len(equal) and all(_kind(row[i]) == "number" for row in below for i in equal)
    words = differ and _is_header(told, [[row[i] for i in equal] for row in below]) is not None
    if below and len(filled) > 1 and (index or words):
        one, other = equal[:2] if words else filled[:2]
        raise UserError(
            f"A table has one row of names; {name} has two, which begin {body[0][one]}, {body[0][other]} and "
            f"{second[one]}, {second[other]}: join them, as {body[0][one]}_{second[one]}."
        )


def _kind(cell: str) -> str:
    text = cell.strip()
    if text in NO_NUMBER:
        return ""
    if is_number(text):
        return "number"
    if looks_like_a_vector(text):
        return "vector"
    return "file" if _FILE.fullmatch(text) else "date" if _DATE.fullmatch(text) else "text"


def _names(cells: Sequence[str], below: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns; where the rows have one cell more, it is the name of the row, or an empty end."""
    names = [str(plain_cell(cell.strip())) for cell in cells]
    widths = {len(row) for row in below if row}
    if widths == {len(names) + 1}:
        return [*names, ""] if not any(row[-1].strip() for row in below) else ["", *names]
    return names


def _without_empty_rows(table: "pyarrow.Table") -> tuple["pyarrow.Table", int]:
    """Return the table without the rows at its end in which every cell is empty, as Excel writes them."""
    end = table.num_rows
    while end and table.num_columns > 1 and not any(column[end - 1].as_py().strip() for column in table.columns):
        end -= 1
    return table.slice(0, end), table.num_rows - end
