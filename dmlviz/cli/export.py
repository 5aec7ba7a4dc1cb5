"""`dmlviz export`: a run as a file for elsewhere."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from dmlviz.cli import DataFolder, RunsFolder, single_command_app
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.export import FORMATS, RunExport, save, write
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
_FORMATS = "; ".join(
    f"{name}: {format.summary[0].lower()}{format.summary[1:].rstrip('.')}" for name, format in FORMATS.items()
)


@app.command()
def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="the run's 16 digits, as `dmlviz runs` lists them")],
    format: Annotated[str, typer.Option("--format", metavar="NAME", help=_FORMATS)] = "html",
    view: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="a map that `dmlviz project` drew, by method or id; otherwise the run's own"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="where to; - is standard output")
    ] = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Keep a run outside the program: a page that plays it, tables, files for other tools, the script that made it."""
    _ = FORMATS[format]
    chosen = Runs(runs_folder(runs)).get(run)
    kept = RunExport.from_run(chosen, _drawing(chosen, view), data_root(data))
    if str(out) == "-":
        write(format, kept, sys.stdout.buffer)
    else:
        print(save(format, kept, out))


def _drawing(run: Run, view: str | None) -> ProjectionRun | None:
    """The finished projection of that method (the newest) or id; None for the run's own view."""
    if view is None:
        return None
    done = [drawing for drawing in run.projections() if drawing.state == "finished"]
    named = [drawing for drawing in done if view in (drawing.id, drawing.config.method)]
    if not named:
        there = ", ".join(sorted({drawing.config.method for drawing in done})) or "none yet"
        raise UserError(f"{run.title} has no finished map {view!r}, but {there}: draw it with dmlviz project {run.id}.")
    return max(named, key=lambda drawing: (drawing.path / "projection.json").stat().st_mtime_ns)
