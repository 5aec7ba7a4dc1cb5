"""Maps as tables, and maps of vectors that belong to no run."""

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
    """Draw the vectors of a file (npy, npz, csv, tsv, parquet) and write their places beside it, or to `target`."""
    if config.all_epochs or config.step is not None:
        raise UserError("Epochs belong to a run; vectors in a file have none: leave out --all-epochs and --step.")
    if not source.is_file():
        raise UserError(f"There is no file {source}; give a run's 16 digits or a file of vectors.")
    vectors, labels = read_table(source)
    limit_to_one_thread()
    from dmlviz.projection import project

    title = config.declared.title
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(highlight=False)) as shown:
        task = shown.add_task(title, total=None)
        drawn = project(
            np.asarray(vectors),
            config,
            lambda iteration, of, *_: shown.update(task, completed=iteration, total=of),
            labels=None if labels is None else np.asarray(labels).astype(str),
            on_phase=lambda words, iteration, of: shown.update(task, description=words, completed=iteration, total=of),
        )
    target = target or source.with_name(f"{source.stem}-{config.declared.name}.csv")
    known = [[row] if labels is None else [row, label] for row, label in enumerate(_label_column(labels, len(vectors)))]
    write_table(target, ["row"] if labels is None else ["row", "class"], known, drawn.coordinates)
    print(f"{title}: {in_words(drawn.faithfulness.summary)}")
    print(target)


def in_words(measures: Mapping[str, Any]) -> str:
    """The measures of a map, four digits each."""
    return ", ".join(f"{name} {value:.4f}" for name, value in measures.items() if isinstance(value, float))


def write_table(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]], coordinates: np.ndarray) -> None:
    """Write rows and the place of each (n × dims) as csv; raise UserError where that is not allowed."""
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow([*names, *"xyz"[: coordinates.shape[1]]])
            table.writerows([*row, *place] for row, place in zip(rows, coordinates.tolist(), strict=True))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from None


def _label_column(labels: np.ndarray | None, count: int) -> list[str]:
    return [""] * count if labels is None else [str(label) for label in labels]
