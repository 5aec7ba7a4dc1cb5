"""Columns of any type that Arrow has as few plain ones: what tables of other programs hold is read alike."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dmlviz.storage.text import plain_name

if TYPE_CHECKING:
    import pyarrow

SECONDS = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}  # units in a second
YEARS = (-62_135_500_000, 253_402_200_000)  # seconds: the years 1 to 9999, beyond which Python has no time


def plain_table(table: "pyarrow.Table") -> tuple["pyarrow.Table", list[str]]:
    """Return a table whose columns have different names and are stored plainly; with notes on names that were equal.

    Extension types (tensors, …), views and run-end encoding become what they stand for, times beyond the years 1 to
    9999 numbers. Dictionaries stay.
    """
    import pyarrow

    names, notes = [], []
    for number, name in enumerate(plain_name(str(column)) for column in table.column_names):
        unique, count = name, 2
        while unique in names:
            unique, count = (f"{name} {count}" if name else f"column {number + 1}"), count + 1
        if unique != name and name:
            notes.append(f"Two columns are called {name}: the second is {unique} here.")
        names.append(unique)
    columns = [_plain(column) for column in table.columns]
    far = [number for number, column in enumerate(columns) if not _is_in_years(column)]
    for number in far:
        columns[number] = _units(columns[number])
    if far:
        notes.append(
            f"Times beyond the years 1 to 9999 are taken as numbers: {', '.join(names[number] for number in far)}."
        )
    return pyarrow.table(columns, names).replace_schema_metadata(table.schema.metadata), notes


def value_type(kind: "pyarrow.DataType") -> "pyarrow.DataType":
    """Return the type of a column's values: of a dictionary, that of its entries."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def is_text(column: "pyarrow.ChunkedArray") -> bool:
    """Return whether a column holds texts, dictionary-encoded ones too."""
    from pyarrow import types

    kind = value_type(column.type)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_numeric(column: "pyarrow.ChunkedArray") -> bool:
    """Return whether a column holds numbers."""
    from pyarrow import types

    kind = value_type(column.type)
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind))


def is_list_type(kind: "pyarrow.DataType") -> bool:
    """Return whether a type is that of lists: of any length, or of one."""
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def leaf_type(kind: "pyarrow.DataType") -> "pyarrow.DataType | None":
    """Return the type of the numbers in lists, or in lists of lists; None for other types and other lists."""
    from pyarrow import types

    if isinstance(kind, _extension()):
        kind = kind.storage_type
    if not is_list_type(kind):
        return None
    while is_list_type(kind):
        kind = kind.value_type
    numbers = types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind) or types.is_boolean(kind)
    return kind if numbers else None


def numbers_of(column: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
    """Return numbers, Booleans, durations and times of the day as float64; these two in seconds."""
    import pyarrow
    from pyarrow import compute, types

    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_duration(kind) or types.is_time(kind):
        whole = column.cast(pyarrow.int32() if types.is_time32(kind) else pyarrow.int64())
        return compute.divide(whole.cast("float64", safe=False), SECONDS[kind.unit])
    if types.is_boolean(kind):
        column = column.cast("int8")
    return column.cast("float64", safe=False)


def _units(times: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
    """Return dates or times as whole numbers of their units."""
    import pyarrow

    return times.cast(pyarrow.int32() if str(times.type) == "date32[day]" else pyarrow.int64())


def _is_in_years(column: "pyarrow.ChunkedArray") -> bool:
    from pyarrow import compute, types

    kind = column.type
    if not types.is_timestamp(kind) and not types.is_date(kind):
        return True
    second = SECONDS[kind.unit] if types.is_timestamp(kind) else 1e3 if types.is_date64(kind) else 1 / 86_400
    ends = compute.min_max(_units(column)).as_py().values()
    return all(end is None or YEARS[0] < end / second < YEARS[1] for end in ends)


def _extension() -> Any:
    import pyarrow

    return pyarrow.BaseExtensionType


def _plain(column: "pyarrow.ChunkedArray") -> "pyarrow.ChunkedArray":
    import pyarrow
    from pyarrow import compute, types

    kind = column.type
    if str(kind) == "extension<arrow.uuid>":
        return pyarrow.chunked_array([pyarrow.array([one and str(one) for one in column.to_pylist()], "string")])
    if isinstance(kind, _extension()):
        storage = column.cast(kind.storage_type)
        return storage.cast("bool") if str(kind) == "extension<arrow.bool8>" else _plain(storage)
    if types.is_run_end_encoded(kind):
        return _plain(compute.run_end_decode(column))
    if types.is_dictionary(kind) and not (types.is_string(kind.value_type) or types.is_large_string(kind.value_type)):
        entries = [_plain(pyarrow.chunked_array([part.dictionary])).combine_chunks() for part in column.chunks]
        whole = [values.take(part.indices) for values, part in zip(entries, column.chunks, strict=True)]
        return pyarrow.chunked_array(whole) if whole else _plain(pyarrow.chunked_array([], kind.value_type))
    if str(kind) in ("string_view", "binary_view"):
        return column.cast(pyarrow.large_string() if str(kind) == "string_view" else pyarrow.large_binary())
    if str(kind).startswith(("list_view", "large_list_view")):
        return pyarrow.chunked_array([pyarrow.array(column.to_pylist(), pyarrow.large_list(kind.value_type))])
    if types.is_decimal(kind):
        return column.cast("float64")
    if types.is_interval(kind):
        return pyarrow.chunked_array([pyarrow.array(map(_period, column.to_pylist()), "string")])
    return column


def _period(interval: Any) -> str | None:
    """Return months, days and nanoseconds as ISO 8601 has them: P1M2DT3.5S."""
    if interval is None:
        return None
    seconds = f"{Decimal(interval.nanoseconds).scaleb(-9):f}"
    seconds = seconds.rstrip("0").rstrip(".") if "." in seconds else seconds
    parts = [f"{number}{unit}" for number, unit in ((interval.months, "M"), (interval.days, "D")) if number]
    return f"P{''.join(parts)}{f'T{seconds}S' if interval.nanoseconds else ''}" if any(interval) else "PT0S"
