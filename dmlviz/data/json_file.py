"""Tables in JSON: a line for each row, a list of rows, or a list for each column, or names and their vectors."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmlviz.data.table_limits import MAX_TABLE_BYTES, open_unpacked, too_large
from dmlviz.errors import UserError

if TYPE_CHECKING:
    import pyarrow

SEEN = 100  # lines that tell which fields are texts
MAX_BLOCK = 2**31 - 1  # bytes that Arrow takes at a time


def read_json_file(path: Path) -> "pyarrow.Table":
    """Read a table of JSON; texts stay what they are, also those that look like dates.

    Raises:
        UserError: For a table that is too large, or for JSON that is no table.
    """
    import pyarrow
    from pyarrow import json as arrow_json

    with open_unpacked(path) as file:
        size = sum(len(part) for part in iter(lambda: file.read(1 << 20), b""))
    if size > MAX_TABLE_BYTES:
        raise too_large(path.name, size)
    with open_unpacked(path) as file:
        lines = [line for _, line in zip(range(SEEN), file, strict=False) if line.strip()]
    if not lines:
        raise UserError(
            f"A table has a row for each picture or vector; {path.name} is empty: check how it was written."
        )
    rows = [_object(line) for line in lines]
    whole = len(lines) < 2 and path.name.lower().endswith((".json", ".json.gz"))
    if not whole and rows and all(row is not None for row in rows):
        texts = {name for row in rows if row for name, value in row.items() if isinstance(value, str)}
        schema = pyarrow.schema([(name, pyarrow.string()) for name in sorted(texts)])
        first = list(rows[0] or ())
        with open_unpacked(path) as file:
            table = arrow_json.read_json(
                file,
                arrow_json.ReadOptions(block_size=min(max(size + 1, 1 << 20), MAX_BLOCK)),
                arrow_json.ParseOptions(explicit_schema=schema),
            )
        return table.select(
            sorted(table.column_names, key=lambda name: first.index(name) if name in first else 1 << 20)
        )
    with open_unpacked(path) as file:
        content = json.load(file)
    content = _named_vectors(_rows(content))
    if isinstance(content, dict) and all(isinstance(column, dict) for column in content.values()):  # of pandas
        named = {name: list(column.values()) for name, column in content.items()}
        content = [*content.values()] if _are_rows(content) else named
    if isinstance(content, dict) and all(isinstance(column, list) for column in content.values()):
        return pyarrow.table({name: _column(values, name, path.name) for name, values in content.items()})
    if isinstance(content, list) and all(isinstance(row, dict) for row in content):
        names = dict.fromkeys(name for row in content for name in row)
        return pyarrow.table({key: _column([row.get(key) for row in content], key, path.name) for key in names})
    if isinstance(content, list) and not any(isinstance(row, list | dict) for row in content):  # a list of labels
        return pyarrow.table({"label": _column(content, "label", path.name)})
    raise UserError(
        f"A table of JSON has an object for each row, or a list for each column; {path.name} is neither: write it with "
        "to_json(orient='records') of pandas."
    )


def _rows(content: Any) -> Any:
    """Return the rows of what wraps them: pandas' orients *split* and *table*, the one list of objects of an API."""
    if isinstance(content, dict) and {"columns", "data"} <= set(content):
        return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]]
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        if len(lists) == 1 and lists[0] and all(isinstance(row, dict) for row in lists[0]):
            return lists[0]
    if isinstance(content, list) and content and all(isinstance(row, list) for row in content):
        if any(isinstance(cell, str) for cell in content[0]):  # of pandas, without the names
            return [
                {f"column {at}" if isinstance(cell, str | list) else f"v{at}": cell for at, cell in enumerate(row)}
                for row in content
            ]
        return {"vector": content}
    return content


def _are_rows(content: dict[str, dict[str, Any]]) -> bool:
    """Return whether the outer names of pandas' nested objects are of rows (*index*) and not of columns.

    They count while the inner ones do not, or what they hold is of several types.
    """
    inner = next(iter(content.values()), {})
    count, inner_count = (all(map(str.isdecimal, names)) for names in (content, inner))
    kinds = [{isinstance(value, str) for value in one.values() if value is not None} for one in content.values()]
    return count if count != inner_count else any(len(one) > 1 for one in kinds)


def _named_vectors(content: Any) -> Any:
    """Return {name: vector} as a table; anything else as it is, such as {column: values}, of more rows than columns."""
    lists = list(content.values()) if isinstance(content, dict) else []
    if not lists or not all(isinstance(one, list) and len(one) == len(lists[0]) < len(lists) for one in lists):
        return content
    numbers = all(isinstance(number, float | int) for one in lists for number in one)
    return {"name": list(content), "vector": lists} if numbers else content


def _column(values: list[Any], column: str, name: str) -> "pyarrow.Array":
    import pyarrow

    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
        first = next(value for value in values if value is not None)
        row = next((row for row, value in enumerate(values, 1) if type(value) not in (type(first), type(None))), 1)
        raise UserError(
            f"The values of a column are of one type, and whole numbers have up to 18 digits; column {column} of "
            f"{name} begins with {str(first)[:40]!r} ({type(first).__name__}), and row {row:,} has "
            f"{str(values[row - 1])[:40]!r} ({type(values[row - 1]).__name__}): write them alike, codes as texts."
        ) from None


def _object(line: bytes) -> dict[str, Any] | None:
    """Return the object that a line holds; None where it is none."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
