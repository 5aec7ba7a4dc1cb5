"""`dmlviz runs`: list and manage runs."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from dmlviz.catalog.metrics import metric_title
from dmlviz.cli import JsonFile, RunId, RunsFolder, complete_run, console_beside, single_command_app, write_results
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder
from dmlviz.storage.text import counted

app = single_command_app()
ExactRunId = Annotated[
    str, typer.Argument(metavar="RUN", help="run ID (see `dmlviz runs`), no title", autocompletion=complete_run)
]
SCORES = ("precision_at_1", "map_at_r")


@app.callback(invoke_without_command=True)
def list_runs(context: typer.Context, runs: RunsFolder = None, json_file: JsonFile = None) -> None:
    """List the runs, newest first, ready-made runs last. Scores are on all test images."""
    if context.invoked_subcommand is None:
        _print_list(Runs(runs_folder(runs)), json_file)
    elif runs is not None:
        raise UserError(f"Put --runs after the subcommand: dmlviz runs {context.invoked_subcommand} … --runs {runs}.")


@app.command()
def rename(run: RunId, title: str, runs: RunsFolder = None) -> None:
    """Rename a run."""
    store = Runs(runs_folder(runs))
    store.rename(store.find(run).id, title)


@app.command()
def pin(run: RunId, runs: RunsFolder = None) -> None:
    """Pin a run, so that it is never evicted to stay within the disk limit."""
    store = Runs(runs_folder(runs))
    store.pin(store.find(run).id)


@app.command()
def unpin(run: RunId, runs: RunsFolder = None) -> None:
    """Unpin a run, so that it can be evicted again."""
    store = Runs(runs_folder(runs))
    store.pin(store.find(run).id, False)


@app.command()
def delete(run: ExactRunId, runs: RunsFolder = None) -> None:
    """Delete a run; `dmlviz runs restore` undoes this within 24 hours."""
    store = Runs(runs_folder(runs))
    store.trash.empty()
    store.delete(run)
    print(f"Deleted. To undo within 24 hours: dmlviz runs restore {run}")


@app.command()
def restore(run: ExactRunId, runs: RunsFolder = None) -> None:
    """Restore a deleted run."""
    print(f"Restored {Runs(runs_folder(runs)).restore(run).title}.")


@app.command()
def export(
    run: RunId,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="zip file to write (default: RUN.zip)")] = None,
    runs: RunsFolder = None,
) -> None:
    """Export a run as a zip file, for `dmlviz runs import` or the app."""
    from dmlviz.runs.archive import export_run
    from dmlviz.storage.files import atomic_write

    source = Runs(runs_folder(runs)).find(run)
    target = file or Path(f"{source.id}.zip")
    with atomic_write(target) as stream:
        export_run(source, stream)
    print(target)


@app.command("import")
def import_archive(file: Annotated[Path, typer.Argument(metavar="FILE")], runs: RunsFolder = None) -> None:
    """Import a run exported with `dmlviz runs export`."""
    from dmlviz.runs.archive import import_run

    with open(file, "rb") as stream:
        run = import_run(stream, Runs(runs_folder(runs)))
    print(f"{run.id}  {run.title}")


def _scores(run: Run) -> dict[str, Any]:
    try:
        return {"scores": run.metrics}
    except DamagedFileError as error:
        return {"scores": {}, "error": error.description}


def _print_list(store: Runs, json_file: Path | None) -> None:
    from dmlviz.runs.damage import damage_summary, run_damage
    from dmlviz.runs.quota import format_bytes, total_size

    console = console_beside(json_file)
    readable, damaged = store.look()
    write_results(
        json_file,
        [
            {
                "run": run.id,
                "title": run.title,
                "state": run.state,
                "created": run.created.isoformat(),
                "ready_made": store.is_bundled(run),
                "tags": run.tags,
                "config": run.config.model_dump(mode="json"),
                **_scores(run),
            }
            for run in readable
        ]
        + [
            {"run": entry.id, "title": entry.title, "state": entry.state, "error": entry.error.description}
            for entry in damaged
        ],
    )
    if not readable and not damaged:
        console.print(f"No runs in {store.folder}. Start one with `dmlviz train`.", soft_wrap=True)
        return
    table = Table("run", "title", *map(metric_title, SCORES), "state", "created", box=None, pad_edge=False)
    for column in table.columns:
        column.no_wrap = column.header != "title"
    for run in readable:
        config = run.config
        scores = [run.score(key) for key in SCORES]
        made = (config.net, counted(config.steps, "step")) if config.steps else ("imported",)
        facts = ", ".join([*made[:1], f"{config.embedding_dim}-d", *made[1:]])
        warning = damage_summary(run, run_damage(run))
        marks = "".join(f" #{tag}" for tag in run.tags) + (" pinned" if run.pinned else "")
        table.add_row(
            run.id,
            f"{escape(run.title)}\n[dim]{facts}"
            f"{escape(marks)}[/dim]" + (f"\n[yellow]{escape(warning)}[/yellow]" if warning else ""),
            *("" if score is None else f"{score:.4f}" for score in scores),
            run.state,
            "ready-made" if store.is_bundled(run) else f"{run.created.astimezone():%Y-%m-%d}",
        )
    for entry in damaged:
        remedy = f"; dmlviz runs delete {entry.id} removes it." if entry.state == "damaged" else "."
        warning = f"{entry.error.description}{remedy}"
        table.add_row(
            entry.id,
            f"{entry.title}\n[yellow]{escape(warning)}[/yellow]",
            *("" for _ in SCORES),
            entry.state,
            f"{entry.touched.astimezone():%Y-%m-%d}",
        )
    console.print(table)
    console.print(f"{format_bytes(total_size(store))} in {store.folder}", style="dim", soft_wrap=True)
