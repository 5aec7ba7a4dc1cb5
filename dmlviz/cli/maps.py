"""Projections of embeddings files, and projections as CSV tables."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dmlviz.config import ProjectionConfig
from dmlviz.data.embedding_file import read_table as read_table
from dmlviz.errors import UserError
from dmlviz.process_setup import limit_to_one_thread


def project_file(source: Path, config: ProjectionConfig, target: Path | None) -> None:
    """Project an embeddings file (npy, npz, csv, tsv, parquet) and write the coordinates as CSV.

    Args:
        source: the embeddings file.
        config: the projection; without `step` and `all_epochs`, which need a run.
        target: the CSV file; by default beside `source`, named after the method.

    Raises:
        UserError: for a file that is missing or unreadable, and for settings that need a run.
    """
    if not config.whole or config.subset is not None:
        raise UserError("--all-epochs, --step and --subset need a run; got an embeddings file: leave them out.")
    if not source.is_file():
        raise UserError(f"No such file: {source}; give a run ID or an embeddings file.")
    vectors, labels, *_ = read_table(source)
    limit_to_one_thread()
    from dmlviz.projection import project

    title = config.declared.title
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(highlight=False)) as progress:
        task = progress.add_task(title, total=None)
        projection = project(
            np.asarray(vectors),
            config,
            lambda iteration, of, *_: progress.update(task, completed=iteration, total=of),
            labels=None if labels is None else np.asarray(labels).astype(str),
            on_phase=lambda phase, iteration, of: progress.update(
                task, description=phase, completed=iteration, total=of
            ),
        )
    target = target or source.with_name(f"{source.stem}-{config.declared.name}.csv")
    names: list[str] = ["row"]
    rows: list[list[Any]] = [[row] for row in range(len(vectors))]
    if labels is not None:
        names, rows = ["row", "class"], [[row, str(label)] for row, label in enumerate(labels)]
    write_table(target, names, rows, projection.coordinates)
    print(f"{title}: {format_measures(projection.quality.summary)}")
    print(target)


def format_measures(measures: Mapping[str, Any]) -> str:
    """Format quality measures, four decimals each, as in "trustworthiness 0.9812, continuity 0.9540"."""
    return ", ".join(f"{name} {value:.4f}" for name, value in measures.items() if isinstance(value, float))


def write_table(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]], coordinates: np.ndarray) -> None:
    """Write a CSV table: the given columns, then x, y (and z).

    Args:
        path: the file to write.
        names: the names of the columns in `rows`.
        rows: one sequence of values per point (n).
        coordinates: positions (n × 2 or 3).

    Raises:
        UserError: if the file cannot be written.
    """
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow([*names, *"xyz"[: coordinates.shape[1]]])
            table.writerows([*row, *position] for row, position in zip(rows, coordinates.tolist(), strict=True))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from None
