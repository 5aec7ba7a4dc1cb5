"""The rows of a table of test images that a filter finds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.columns import Column, column_numbers
from dmlviz.runs.run import Run

if TYPE_CHECKING:
    import pyarrow

CLASS = "class"


@dataclass(frozen=True)
class Filter:
    """What rows are looked for: a text anywhere in the row, and what one column holds.

    Attributes:
        text: part of a text of the row, in any case.
        column: the column; None for none.
        low: the least number of that column.
        high: the largest number of that column.
        values: the categories of that column, any of which will do; empty for all.
    """

    text: str = ""
    column: str | None = None
    low: float = float("-inf")
    high: float = float("inf")
    values: tuple[str, ...] = ()


def matching_rows(table: "pyarrow.Table", columns: tuple[Column, ...], wanted: Filter) -> np.ndarray:
    """Return the indices of the rows that a filter finds, in ascending order."""
    from pyarrow import compute

    found = np.ones(table.num_rows, bool)
    if wanted.text:
        anywhere = np.zeros(table.num_rows, bool)
        for values in table.columns:
            matches = compute.match_substring(values.cast("string"), wanted.text, ignore_case=True)
            anywhere |= matches.fill_null(False).to_numpy()
        found &= anywhere
    column = next((column for column in columns if column.name == wanted.column), None)
    if column is not None and column.kind == "number":
        numbers = column_numbers(table, column)
        found &= (numbers >= np.float32(wanted.low)) & (numbers <= np.float32(wanted.high))
    elif column is not None and wanted.values:
        codes = [column.values.index(value) for value in wanted.values if value in column.values]
        found &= np.isin(column_numbers(table, column), codes)
    return np.flatnonzero(found)


def with_classes(run: Run, table: "pyarrow.Table") -> "pyarrow.Table":
    """Return the table with the class of each row before its columns, where there is more than one class."""
    import pyarrow

    classes, labels = DATASETS[run.config.dataset].classes, run.labels
    if labels is None or len(classes) < 2 or CLASS in table.column_names:
        return table
    names = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.asarray(labels, np.int32)), pyarrow.array(classes))
    return table.add_column(0, CLASS, names)
