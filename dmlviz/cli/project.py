"""`dmlviz project`: a map of a run, kept with it, or of vectors in a file."""

import threading
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.cli import RunsFolder, single_command_app
from dmlviz.cli.interrupt import stop_on_interrupt
from dmlviz.cli.maps import in_words, project_file, write_table
from dmlviz.cli.options import add_config_options
from dmlviz.config import ProjectionConfig
from dmlviz.data.embedding_file import SUFFIXES
from dmlviz.errors import UserError
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.projection_run import epoch_steps
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


def project(
    settings: dict[str, Any],
    source: Annotated[
        str,
        typer.Argument(metavar="RUN|FILE", help="a run's 16 digits, or vectors: npy, npz, csv, tsv or parquet"),
    ],
    runs: RunsFolder = None,
    table: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="write coordinates there")] = None,
) -> None:
    """Draw the test images of a run, which the app then shows beside its other maps, or the vectors of a file.

    Ctrl-C gives it up.
    """
    config = ProjectionConfig(**settings)
    if Path(source).suffix.lower() in SUFFIXES:
        project_file(Path(source), config, table)
        return
    known = Runs(runs_folder(runs))
    chosen = known.get(source)
    chosen.embeddings_at(config.step)  # or a sentence that says why there is none
    drawing = _finished(chosen, config) or _draw(known.create_projection(chosen, config), Console(highlight=False))
    if table is not None:
        _write_run(table, chosen, drawing)
    print(f"{config.declared.title}: {_kept(drawing)}")
    print(table or drawing.path)


app.command()(add_config_options(project, ProjectionConfig, {"method": PROJECTIONS}, {}))


def _finished(run: Run, config: ProjectionConfig) -> ProjectionRun | None:
    known = {drawing.id: drawing for drawing in run.projections()}
    drawing = known.get(config.id)
    return drawing if drawing is not None and drawing.state == "finished" else None


def _draw(drawing: ProjectionRun, console: Console) -> ProjectionRun:
    """Draw in a thread, so that Ctrl-C is heard between two iterations, and show how far it is."""
    from dmlviz.runs.projection_run import run_projection

    limit_to_one_thread()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn()
    with stop_on_interrupt(lambda: console.print("Stopping …")) as stop, Progress(*columns, console=console) as shown:
        task = shown.add_task(drawing.config.declared.title, total=None)
        work = threading.Thread(target=run_projection, args=(drawing.path,), kwargs={"stop": stop}, daemon=True)
        work.start()
        seen = 0
        while work.is_alive():
            time.sleep(0.1)
            for event in drawing.events(seen):
                seen += 1
                if event["event"] == "phase":
                    shown.update(task, description=event["words"], completed=event["iteration"], total=event["of"])
                if event["event"] == "frame":
                    shown.update(task, completed=event["iteration"], total=event["of"])
    if drawing.state == "stopped":
        raise typer.Exit(130)
    end = drawing.end
    if end is None or end["event"] != "finished":
        raise UserError((end or {}).get("reason", "The drawing ended without a word; its folder says more."))
    return drawing


def _kept(drawing: ProjectionRun) -> str:
    return in_words((drawing.end or {}).get("faithfulness") or {})


def _write_run(path: Path, run: Run, drawing: ProjectionRun) -> None:
    """Every image that the map shows; of a film at every epoch, which then has a column."""
    config, names = drawing.config, DATASETS[run.config.dataset].classes
    coordinates, labels, tracked = drawing.coordinates, run.labels, run.tracked_indices
    assert coordinates is not None  # it is finished
    assert labels is not None
    assert tracked is not None
    images = np.arange(len(labels)) if config.step is None and not config.all_epochs else np.asarray(tracked)
    rows = [[int(image), names[labels[image]]] for image in images]
    if not config.all_epochs:
        write_table(path, ["image", "class"], rows, coordinates)
        return
    steps = epoch_steps(run, config)
    rows = [[step, *row] for step in steps for row in rows]
    write_table(path, ["step", "image", "class"], rows, coordinates.reshape(-1, config.dims))
