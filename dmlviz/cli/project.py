"""`dmlviz project`: project a run's embeddings, or an embeddings file."""

import threading
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.cli import RunsFolder, single_command_app
from dmlviz.cli.interrupt import stop_on_interrupt
from dmlviz.cli.maps import format_measures, project_file, write_table
from dmlviz.cli.options import add_config_options
from dmlviz.config import ProjectionConfig
from dmlviz.data.embedding_file import SUFFIXES
from dmlviz.errors import UserError
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.projection_items import projected_embeddings, projected_items
from dmlviz.runs.projection_run import epoch_steps
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


def project(
    settings: dict[str, Any],
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN|FILE", help="ID or title of a run, or an embeddings file: npy, npz, csv, tsv or parquet"
        ),
    ],
    runs: RunsFolder = None,
    table: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="CSV output path")] = None,
) -> None:
    """Project a run's test embeddings (also shown in the app), or an embeddings file.

    Ctrl-C cancels it.
    """
    config = ProjectionConfig(**settings)
    if Path(source).suffix.lower() in SUFFIXES:
        project_file(Path(source), config, table)
        return
    store = Runs(runs_folder(runs))
    run = store.find(source)
    projected_embeddings(run, config, config.step)  # raises where there are none
    projection = _existing(run, config) or _compute(store.create_projection(run, config), Console(highlight=False))
    if table is not None:
        _write_run(table, run, projection)
    print(f"{config.declared.title}: {format_measures((projection.end or {}).get('faithfulness') or {})}")
    print(table or projection.path)


app.command()(add_config_options(project, ProjectionConfig, {"method": PROJECTIONS}, {}))


def _existing(run: Run, config: ProjectionConfig) -> ProjectionRun | None:
    """Return the finished projection with these settings, if there is one."""
    projections = {projection.id: projection for projection in run.projections()}
    projection = projections.get(config.id)
    return projection if projection is not None and projection.state == "finished" else None


def _compute(projection: ProjectionRun, console: Console) -> ProjectionRun:
    """Compute a projection in a thread, so that Ctrl-C takes effect between iterations; show the progress."""
    from dmlviz.runs.projection_run import run_projection

    limit_to_one_thread()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn()
    with stop_on_interrupt(lambda: console.print("Stopping …")) as stop, Progress(*columns, console=console) as bar:
        task = bar.add_task(projection.config.declared.title, total=None)
        work = threading.Thread(target=run_projection, args=(projection.path,), kwargs={"stop": stop}, daemon=True)
        work.start()
        seen = 0
        while work.is_alive():
            time.sleep(0.1)
            for event in projection.events(seen):
                seen += 1
                if event["event"] == "phase":
                    bar.update(task, description=event["words"], completed=event["iteration"], total=event["of"])
                if event["event"] == "frame":
                    bar.update(task, completed=event["iteration"], total=event["of"])
    if projection.state == "stopped":
        raise typer.Exit(130)
    end = projection.end
    if end is None or end["event"] != "finished":
        raise UserError((end or {}).get("reason", f"The projection ended without a result; see {projection.path}."))
    return projection


def _write_run(path: Path, run: Run, projection: ProjectionRun) -> None:
    """Write one row per image on the map; with all epochs one per image and epoch, and a column `step`."""
    config, names = projection.config, DATASETS[run.config.dataset].classes
    coordinates, labels = projection.coordinates, run.labels
    assert coordinates is not None  # it is finished
    assert labels is not None
    rows = [[int(image), names[labels[image]]] for image in projected_items(run, config)]
    if not config.all_epochs:
        write_table(path, ["image", "class"], rows, coordinates)
        return
    steps = epoch_steps(run, config)
    rows = [[step, *row] for step in steps for row in rows]
    write_table(path, ["step", "image", "class"], rows, coordinates.reshape(-1, config.dims))
