"""`dmlviz project`: a map of a run, kept with it."""

import csv
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dmlviz.commands import RunsFolder, command_app, one_thread
from dmlviz.commands.interrupt import stop_on_interrupt
from dmlviz.commands.options import with_options
from dmlviz.config import ProjectionConfig
from dmlviz.data.declared import DATASETS
from dmlviz.errors import UserError
from dmlviz.projection.declared import PROJECTIONS
from dmlviz.record import Drawing, Run
from dmlviz.runs import Runs, runs_folder

app = command_app()


def project(
    settings: dict[str, Any],
    run: Annotated[str, typer.Argument(metavar="RUN", help="the run's 16 digits, as `dmlviz runs` lists them")],
    runs: RunsFolder = None,
    table: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="also write coordinates there")] = None,
) -> None:
    """Draw all test images of a run; the app shows the map beside its others. Ctrl-C gives it up."""
    config = ProjectionConfig(**settings)
    known = Runs(runs_folder(runs))
    chosen = known.get(run)
    if chosen.embeddings is None or chosen.labels is None:
        raise UserError(f"{chosen.title} has no embeddings yet; they are written when its training ends.")
    drawing = _finished(chosen, config) or _draw(known.prepare_drawing(chosen, config), Console(highlight=False))
    assert drawing.coordinates is not None  # it is finished
    if table is not None:
        names = DATASETS[chosen.config.dataset].classes
        _write(table, drawing.coordinates, [names[label] for label in chosen.labels])
    print(f"{PROJECTIONS[config.method].title}: {_kept(drawing)}")
    print(table or drawing.path)


app.command()(with_options(project, ProjectionConfig, {"method": PROJECTIONS}, {}))


def _finished(run: Run, config: ProjectionConfig) -> Drawing | None:
    known = {drawing.id: drawing for drawing in run.drawings()}
    drawing = known.get(config.id)
    return drawing if drawing is not None and drawing.state == "finished" else None


def _draw(drawing: Drawing, console: Console) -> Drawing:
    """Draw in a thread, so that Ctrl-C is heard between two iterations, and show how far it is."""
    from dmlviz.drawing import draw_into

    one_thread()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn()
    with stop_on_interrupt(lambda: console.print("Stopping …")) as stop, Progress(*columns, console=console) as shown:
        task = shown.add_task(PROJECTIONS[drawing.config.method].title, total=None)
        work = threading.Thread(target=draw_into, args=(drawing.path,), kwargs={"stop": stop}, daemon=True)
        work.start()
        seen = 0
        while work.is_alive():
            time.sleep(0.1)
            for event in drawing.events(seen):
                seen += 1
                if event["event"] == "frame":
                    shown.update(task, completed=event["iteration"], total=event["of"])
    if drawing.state == "stopped":
        raise typer.Exit(130)
    end = drawing.end
    if end is None or end["event"] != "finished":
        raise UserError((end or {}).get("reason", "The drawing ended without a word; its folder says more."))
    return drawing


def _kept(drawing: Drawing) -> str:
    found = ((drawing.end or {}).get("faithfulness") or {}).items()
    return ", ".join(f"{name} {value:.4f}" for name, value in found if isinstance(value, float))


def _write(path: Path, coordinates: np.ndarray, classes: list[str]) -> None:
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["image", "class", *"xyz"[: coordinates.shape[1]]])
            for image, (name, point) in enumerate(zip(classes, coordinates.tolist(), strict=True)):
                rows.writerow([image, name, *point])
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from None
