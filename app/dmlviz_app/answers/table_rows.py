"""The rows of a table of test images: those that a filter finds, in the order of a column, as CSV."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.class_names import has_label
from dmlviz.data.columns import Column, column_numbers
from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz.runs.run_columns import run_columns
from dmlviz.storage.csv_table import write_csv

if TYPE_CHECKING:
    import pyarrow

CLASS = "class"
ROW = "row"


@dataclass(frozen=True)
class Condition:
    """A condition on one column.

    Attributes:
        column: The column.
        low: The least number of that column.
        high: The largest number of that column.
        values: The categories of that column, any of which will do; empty for all.
    """

    column: str
    low: float = float("-inf")
    high: float = float("inf")
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Filter:
    """The filter of the rows.

    Attributes:
        text: Part of a text of the row, in any case.
        conditions: All of which hold.
        among: The indices of the rows to look among; None for all.
    """

    text: str = ""
    conditions: tuple[Condition, ...] = ()
    among: np.ndarray | None = None


def matching_rows(table: "pyarrow.Table", columns: tuple[Column, ...], criteria: Filter) -> np.ndarray:
    """Return the indices of the rows that a filter finds, in ascending order."""
    from pyarrow import compute

    mask = np.ones(table.num_rows, bool)
    if criteria.among is not None:
        mask[:] = False
        mask[criteria.among[criteria.among < table.num_rows]] = True
    if criteria.text:
        anywhere = np.zeros(table.num_rows, bool)
        for values in table.columns:
            matches = compute.match_substring(values.cast("string"), criteria.text, ignore_case=True)
            anywhere |= matches.fill_null(False).to_numpy()
        mask &= anywhere
    by_name = {column.name: column for column in columns}
    for condition in criteria.conditions:
        column = by_name.get(condition.column)
        if column is not None and column.kind == "number":
            numbers = column_numbers(table, column)
            mask &= (numbers >= condition.low) & (numbers <= condition.high)
        elif column is not None and condition.values:
            codes = [column.values.index(value) for value in condition.values if value in column.values]
            mask &= np.isin(column_numbers(table, column), codes)
    return np.flatnonzero(mask)


def sorted_rows(table: "pyarrow.Table", rows: np.ndarray, by: str, descending: bool) -> np.ndarray:
    """Return rows in the order of a column: equal ones by their number, those without a value last.

    Args:
        table: All rows.
        rows: Indices of rows, ascending.
        by: Name of the column.
        descending: Largest first, and texts from Z to A.
    """
    import pyarrow
    from pyarrow import compute

    values = table.column(by).take(pyarrow.array(rows))
    if pyarrow.types.is_dictionary(values.type):
        codes = values.combine_chunks()
        values = codes.indices if values.type.ordered else codes.cast("string")
    if pyarrow.types.is_floating(values.type):
        values = compute.if_else(compute.is_nan(values), None, values)
    order = "descending" if descending else "ascending"
    places = compute.sort_indices(values, sort_keys=[("", order)])  # no value: at the end
    rows_in_order: np.ndarray = rows[places.to_numpy()]
    return rows_in_order


def with_classes(run: Run, table: "pyarrow.Table") -> "pyarrow.Table":
    """Return the table with the class of each row before its columns, where there is more than one class."""
    import pyarrow

    classes, labels = DATASETS[run.config.dataset].classes, run.labels
    if labels is None or len(classes) < 2 or CLASS in table.column_names:
        return table
    codes = pyarrow.array(np.asarray(labels, np.int32), mask=~has_label(labels, classes))
    names = pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(classes))
    return table.add_column(0, CLASS, names)


def selected_rows_as_csv(run: Run, data: Path, bits: np.ndarray) -> bytes:
    """Return the rows whose bits (uint8, little-endian) are set as CSV; raise UserError for a run without columns."""
    table = run_columns(run, data)
    if table is None:
        raise UserError(f"{run.title} has no table of columns: reload the page.")
    rows = np.flatnonzero(np.unpackbits(bits, count=table.num_rows, bitorder="little"))
    return rows_as_csv(with_classes(run, table), rows)


def rows_as_csv(table: "pyarrow.Table", rows: np.ndarray) -> bytes:
    """Return rows as CSV: their number, then what the table says of them."""
    import pyarrow

    number = ROW if ROW not in table.column_names else f"{ROW} number"
    part = table.take(pyarrow.array(rows)).add_column(0, number, pyarrow.array(rows.astype(np.int64)))
    file = io.BytesIO()
    write_csv(part, file)
    return file.getvalue()
