"""`dmlviz export`: save a run as a page, a table, weights or a script."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FIGURES, ExportFormatSpec
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.cli import DataFolder, RunId, RunsFolder, single_command_app
from dmlviz.cli.project import compute
from dmlviz.config import ProjectionConfig
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.export import FORMATS, RunExport, save, write
from dmlviz.export.look import Look
from dmlviz.export.weights import loading
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
DEFAULT_SCALE = 2
_FORMATS = "; ".join(
    f"{name}: {format.summary[0].lower()}{format.summary[1:].rstrip('.')}" for name, format in FORMATS.items()
)


@app.command()
def export(
    run: RunId,
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help=_FORMATS, autocompletion=lambda: [*FORMATS])
    ] = "html",
    view: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="map to export (method, drawn if need be, or ID; default: the run's own view)"
        ),
    ] = None,
    hide: Annotated[
        str, typer.Option(metavar="CLASSES", help="numbers of classes that films and maps leave out, as 0-3,7")
    ] = "",
    step: Annotated[int | None, typer.Option(metavar="N", help="step of a figure (default: the end)")] = None,
    figure: Annotated[
        str,
        typer.Option(
            metavar="NAME", help=f"for svg, pdf, png: {', '.join(FIGURES)}", autocompletion=lambda: [*FIGURES]
        ),
    ] = "map",
    width: Annotated[str, typer.Option(metavar="MM", help="of a figure: column (85), slide (250), or mm")] = "column",
    scale: Annotated[int, typer.Option(metavar="N", help="of a PNG: 1, 2 or 4")] = DEFAULT_SCALE,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="output path, - for stdout")] = None,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Export a run: interactive HTML page, tables, figures, weights, or the script that reproduces it."""
    given = {"hide": hide, "step": step is not None, "figure": figure != "map", "width": width != "column"}
    _refuse_unused(FORMATS[format], given | {"scale": scale != DEFAULT_SCALE})
    store = Runs(runs_folder(runs))
    source = store.find(run)
    DATASETS.add_search_path(data_root(data))
    hidden = DATASETS[source.config.dataset].class_ids(hide, "--hide")
    if step is not None and source.end_step is not None and step > source.end_step:
        raise UserError(f"{source.title} ended after step {source.end_step:,}; got --step {step:,}.")
    contents = RunExport.from_run(
        source, finished_projection(source, view, store, follows=step is not None), data_root(data)
    )
    query = {"figure": figure, "width": width, "scale": str(scale)} | ({} if step is None else {"step": str(step)})
    look = replace(Look.of_address(query, ""), hidden=hidden)
    contents = replace(contents, look=look)
    if str(out) == "-":
        write(format, contents, sys.stdout.buffer)
    else:
        print(save(format, contents, out))
        if format == "weights":
            print(f"\nTo load them:\n\n{loading(contents)}", file=sys.stderr)


def _refuse_unused(spec: ExportFormatSpec, given: Mapping[str, object]) -> None:
    unused = [f"--{name}" for name, value in given.items() if value and name not in spec.options]
    if unused:
        formats = [name for name, other in FORMATS.items() if {word[2:] for word in unused} <= {*other.options}]
        raise UserError(
            f"{spec.title} ({spec.name}) is written without {' and '.join(unused)}: leave that out, or choose "
            f"--format {', '.join(formats)}."
        )


def finished_projection(
    run: Run, view: str | None, store: Runs | None = None, *, follows: bool = False
) -> ProjectionRun | None:
    """Return the finished projection with this ID, or the newest one of this method; None for the run's own view.

    With a `store`, a method by which no map is there, or none that `follows` the training where it has to, draws one,
    with its progress on stderr.
    """
    if view is None or view == run.default_view:
        return None
    projections = [projection for projection in run.projections() if projection.state == "finished"]
    matching = [projection for projection in projections if view in (projection.id, projection.config.method)]
    follows = follows and view in PROJECTIONS and PROJECTIONS[view].follows
    if store is not None and view in PROJECTIONS and not any(one.config.follow or not follows for one in matching):
        config = ProjectionConfig(method=view, follow=follows)
        return compute(store.create_projection(run, config), Console(stderr=True))
    matching = [one for one in matching if one.config.follow] if follows else matching
    if not matching and view not in PROJECTIONS:
        names = ", ".join(name for name in PROJECTIONS if name != run.default_view)
        raise UserError(
            f"A view of {run.title} is {run.default_view} (its own), a projection ({names}) or its ID; got {view!r}."
        )
    if not matching:
        raise UserError(
            f"{run.title} has no finished projection {view!r}: create one with dmlviz project {run.id} --method {view}."
        )
    return max(matching, key=lambda projection: (projection.path / "projection.json").stat().st_mtime_ns)
