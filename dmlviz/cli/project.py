"""`dmlviz project`: project a run's embeddings, or an embeddings file."""

import csv
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.parameters import Fields
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.cli import RunsFolder, complete_run, single_command_app, stop_on_interrupt
from dmlviz.cli.options import add_config_options
from dmlviz.config import ProjectionConfig
from dmlviz.data.class_names import UNLABELED, label_text
from dmlviz.data.embedding_file import SUFFIXES
from dmlviz.data.embedding_file import read_table as read_table
from dmlviz.data.table_file import name_stem, suffix_of
from dmlviz.errors import UserError
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.projection import lowered
from dmlviz.runs.projection_run import projected_embeddings, projected_items
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.runs.store import Runs, runs_folder
from dmlviz.storage.csv_table import safe_cell

app = single_command_app()


def project(
    settings: Fields,
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN|FILE",
            help="ID or title of a run, or an embeddings file: npy, npz, csv, tsv, json or parquet",
            autocompletion=complete_run,
        ),
    ],
    runs: RunsFolder = None,
    table: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="CSV output path")] = None,
) -> None:
    """Project a run's test embeddings (also shown in the app), or an embeddings file.

    Ctrl-C cancels it.
    """
    config = ProjectionConfig(**settings)
    if suffix_of(source) in SUFFIXES:
        _project_file(Path(source), config, table)
        return
    store = Runs(runs_folder(runs))
    run = store.find(source)
    step = run.embedded_steps[0] if config.follow and run.embedded_steps else config.step
    _say_what_is_lowered(config, projected_embeddings(run, config, step)[0])
    projection = _existing(run, config) or compute(store.create_projection(run, config), Console(highlight=False))
    if table is not None:
        _write_run(table, run, projection)
    print(map_summary(projection))
    print(table or projection.path)


app.command()(add_config_options(project, ProjectionConfig, {"method": PROJECTIONS}, {}))


def _say_what_is_lowered(config: ProjectionConfig, embeddings: np.ndarray) -> ProjectionConfig:
    """Return the settings that so few embeddings (n × d) allow, and print what is lower than asked for."""
    if np.ndim(embeddings) == 2:
        config, note = lowered(config, *np.shape(embeddings))
        if note:
            print(note)
    return config


def _existing(run: Run, config: ProjectionConfig) -> ProjectionRun | None:
    """Return the finished projection with these settings, if there is one."""
    projections = {projection.id: projection for projection in run.projections()}
    projection = projections.get(config.id)
    return projection if projection is not None and projection.state == "finished" else None


def compute(projection: ProjectionRun, console: Console) -> ProjectionRun:
    """Compute a projection in a thread, so that Ctrl-C takes effect between iterations; show the progress."""
    from dmlviz.runs.projection_run import run_projection

    limit_to_one_thread()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn()
    with (
        stop_on_interrupt(lambda: console.print("Stopping …")) as stop,
        Progress(*columns, console=console, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task(projection.config.declared.title, total=None)
        options = {"stop": stop, "every": True}
        work = threading.Thread(target=run_projection, args=(projection.path,), kwargs=options, daemon=True)
        work.start()
        count = 0
        while work.is_alive():
            time.sleep(0.1)
            for event in projection.events(count):
                count += 1
                if event["event"] == "phase":
                    bar.update(task, description=event["words"], completed=event["iteration"], total=event["of"])
                if event["event"] == "frame":
                    bar.update(task, completed=event["iteration"], total=event["of"])
    if projection.state == "stopped":
        raise typer.Exit(130)
    end = projection.end
    if end is None or end["event"] == "failed":
        reason = end["reason"] if end else f"The projection ended without a result; see {projection.path}."
        raise UserError(reason)
    return projection


def _write_run(path: Path, run: Run, projection: ProjectionRun) -> None:
    """Write one row per image on the map; of one that followed also of each snapshot, and a column `step`."""
    config, names = projection.config, DATASETS[run.config.dataset].classes
    coordinates, labels = projection.coordinates, run.labels
    assert coordinates is not None  # it is finished
    assert labels is not None
    words = ["" if name == UNLABELED else name for name in names]
    rows = [[int(image), words[labels[image]]] for image in projected_items(run, config)]
    if not config.follow:
        _write_table(path, ["image", "class"], rows, coordinates)
        return
    end, places, rows = run.end_step or 0, [coordinates], [[run.end_step, *row] for row in rows]
    for step, frame in reversed([*projection.layouts.items()]):
        if step < end:
            places.insert(0, projection.positions(frame))
            images = projected_items(run, config.replace(follow=False, step=step))
            rows[:0] = [[step, int(image), words[labels[image]]] for image in images]
    _write_table(path, ["step", "image", "class"], rows, np.concatenate(places))


def _project_file(source: Path, config: ProjectionConfig, target: Path | None) -> None:
    """Project an embeddings file (npy, npz, csv, tsv, json, parquet) and write the coordinates as CSV.

    Args:
        source: The embeddings file.
        config: The projection; without `step` and `follow`, which need a run.
        target: The CSV file; by default beside `source`, named after the method.

    Raises:
        UserError: For a file that is missing or unreadable, and for settings that need a run.
    """
    if not config.whole or config.follow or config.subset is not None:
        raise UserError("--follow, --step and --subset need a run; got an embeddings file: leave them out.")
    if not source.is_file():
        raise UserError(f"No such file: {source}; give a run ID or an embeddings file.")
    read = read_table(source)
    vectors = read.vectors
    texts = None if read.labels is None else [label_text(label) for label in read.labels.tolist()]
    labels = None if texts is None else np.array([None if text == UNLABELED else text for text in texts], object)
    for line in (read.summary(), *read.notes):
        print(line)
    limit_to_one_thread()
    from dmlviz.projection import project

    config = _say_what_is_lowered(config, vectors)
    title = config.declared.title
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn()
    console = Console(highlight=False)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=None)
        projection = project(
            np.asarray(vectors),
            config,
            lambda iteration, of, *_: progress.update(task, completed=iteration, total=of),
            labels=labels,
            on_phase=lambda phase, iteration, of: progress.update(
                task, description=phase, completed=iteration, total=of
            ),
        )
    target = target or source.with_name(f"{name_stem(source)}-{config.declared.name}.csv")
    names: list[str] = ["row"]
    rows: list[list[Any]] = [[row] for row in range(len(vectors))]
    if labels is not None:
        names, rows = ["row", "class"], [[row, label or ""] for row, label in enumerate(labels)]
    _write_table(target, names, rows, projection.coordinates)
    print(f"{title}: {_format_measures(projection.quality.summary)}")
    print(target)


def map_summary(projection: ProjectionRun) -> str:
    """Return the title of a finished map with its quality."""
    return f"{projection.config.declared.title}: {_format_measures(projection.faithfulness)}"


def _format_measures(measures: Mapping[str, Any]) -> str:
    """Format quality measures and counts, as in "trustworthiness 0.9812, continuity 0.9540, k 10, measured 2,000"."""
    return ", ".join(
        f"{name} {value:,.0f}" if name in ("k", "measured", "n") else f"{name} {value:.4f}"
        for name, value in measures.items()
        if isinstance(value, float)
    )


def _write_table(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]], coordinates: np.ndarray) -> None:
    """Write a CSV table: the given columns, then x, y (and z).

    Args:
        path: The file to write.
        names: The names of the columns in `rows`.
        rows: One sequence of values per point (n).
        coordinates: Positions (n × 2 or 3).

    Raises:
        UserError: If the file cannot be written.
    """
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow([*map(safe_cell, names), *"xyz"[: coordinates.shape[1]]])
            positions = coordinates.tolist()
            table.writerows([*map(safe_cell, row), *place] for row, place in zip(rows, positions, strict=True))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from None
