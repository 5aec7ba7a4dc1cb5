"""`dmlviz runs`: what has been trained, and what becomes of it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dmlviz.cli import RunsFolder, single_command_app
from dmlviz.errors import UserError
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()
SCORES = {"precision_at_1": "P@1", "map_at_r": "MAP@R"}
RunId = Annotated[str, typer.Argument(metavar="RUN", help="the run's 16 digits, as `dmlviz runs` lists them")]


@app.callback(invoke_without_command=True)
def listed(context: typer.Context, runs: RunsFolder = None) -> None:
    """List the runs, the newest first, those that come with the program last. Scores are of all test images."""
    if context.invoked_subcommand is None:
        _list(Runs(runs_folder(runs)))
    elif runs is not None:
        raise UserError(f"--runs goes behind the command: dmlviz runs {context.invoked_subcommand} … --runs {runs}.")


@app.command()
def rename(run: RunId, title: str, runs: RunsFolder = None) -> None:
    """Call a run otherwise."""
    Runs(runs_folder(runs)).rename(run, title)


@app.command()
def pin(
    run: RunId,
    off: Annotated[bool, typer.Option("--off", help="let it go again when older runs make room")] = False,
    runs: RunsFolder = None,
) -> None:
    """Keep a run when the app removes older ones to stay within its disk limit."""
    Runs(runs_folder(runs)).pin(run, not off)


@app.command()
def delete(run: RunId, runs: RunsFolder = None) -> None:
    """Delete a run; for a day `dmlviz runs restore` brings it back."""
    known = Runs(runs_folder(runs))
    known.trash.empty()
    known.delete(run)
    print(f"Deleted; for a day this brings it back: dmlviz runs restore {run}")


@app.command()
def restore(run: RunId, runs: RunsFolder = None) -> None:
    """Bring a deleted run back."""
    print(f"{Runs(runs_folder(runs)).restore(run).title} is back.")


@app.command()
def export(
    run: RunId,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="zip to write; RUN.zip here by default")] = None,
    runs: RunsFolder = None,
) -> None:
    """Write a run as one file that `dmlviz runs import` and the app take in."""
    from dmlviz.runs.archive import export_run
    from dmlviz.storage.files import atomic_write

    found, target = Runs(runs_folder(runs)).get(run), file or Path(f"{run}.zip")
    try:
        with atomic_write(target) as opened:
            export_run(found, opened)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror}.") from None
    print(target)


@app.command("import")
def import_archive(file: Annotated[Path, typer.Argument(metavar="FILE")], runs: RunsFolder = None) -> None:
    """Take a run in that `export` wrote."""
    from dmlviz.runs.archive import import_run

    try:
        with open(file, "rb") as opened:
            run = import_run(opened, Runs(runs_folder(runs)))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from None
    print(f"{run.id}  {run.title}")


def _list(known: Runs) -> None:
    from dmlviz.runs.damage import run_damage, told
    from dmlviz.runs.quota import format_bytes, total_size

    console = Console(highlight=False)
    found, damaged = known.look()
    if not found and not damaged:
        console.print(f"No runs in {known.folder} yet; dmlviz train makes one.", soft_wrap=True)
        return
    table = Table("run", "title", *SCORES.values(), "state", "asked for", box=None, pad_edge=False)
    for column in table.columns:
        column.no_wrap = column.header != "title"
    for run in found:
        config = run.config
        scores = [run.score(key) for key in SCORES]
        said = told(run_damage(run))
        marks = "".join(f" #{tag}" for tag in run.tags) + (" pinned" if run.pinned else "")
        table.add_row(
            run.id,
            f"{escape(run.title)}\n[dim]{config.net}, {config.embedding_dim}-d, {config.steps:,} steps"
            f"{escape(marks)}[/dim]" + (f"\n[yellow]{escape(said)}[/yellow]" if said else ""),
            *("" if score is None else f"{score:.4f}" for score in scores),
            run.state,
            "ready-made" if known.is_bundled(run) else f"{run.created.astimezone():%Y-%m-%d}",
        )
    for broken in damaged:
        said = f"{broken.error.description}; dmlviz runs delete {broken.id} removes it."
        table.add_row(
            broken.id,
            f"{broken.title}\n[yellow]{escape(said)}[/yellow]",
            *("" for _ in SCORES),
            "damaged",
            f"{broken.touched.astimezone():%Y-%m-%d}",
        )
    console.print(table)
    console.print(f"{format_bytes(total_size(known))} in {known.folder}", style="dim", soft_wrap=True)
