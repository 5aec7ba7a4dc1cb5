"""The results of a study as one Parquet table: a row for each trial."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dmlviz.storage.files import atomic_write
from dmlviz.studies.trial import TrialResult


def write_table(results: Sequence[TrialResult], path: Path) -> None:
    """Write a row for each trial: name, data set, error, seconds, then a column for each setting and each value.

    Settings come as `settings.NAME`, values as `values.NAME`; what is neither number, text nor truth value is JSON.

    Args:
        results: The results.
        path: The file, written atomically.
    """
    import pyarrow
    from pyarrow import parquet

    rows = [_row(result) for result in results]
    columns: dict[str, list[Any]] = {name: [] for name in dict.fromkeys(name for row in rows for name in row)}
    for row in rows:
        for name, column in columns.items():
            column.append(row.get(name))
    table = pyarrow.table({name: _column(values) for name, values in columns.items()})
    with atomic_write(path) as file:
        parquet.write_table(table, file)


def _row(result: TrialResult) -> dict[str, Any]:
    trial = result.trial
    return {
        "name": trial.name,
        "dataset": trial.dataset,
        "error": result.error,
        "seconds": result.seconds,
        **{f"settings.{name}": value for name, value in trial.settings.items()},
        **{f"values.{name}": value for name, value in result.values.items()},
    }


def _column(values: list[Any]) -> Any:
    """Return numbers, truth values or texts as they are, a mixture or anything else as JSON."""
    import pyarrow

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or kinds in ({bool}, {str}):
        return pyarrow.array(values)
    return pyarrow.array([None if value is None else json.dumps(value) for value in values])
