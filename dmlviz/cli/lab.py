"""`dmlviz lab`: run a lab in the terminal and print its figures as tables."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from dmlviz.cli import DataFolder, RunsFolder, console_beside, single_command_app, stop_on_interrupt, write_results
from dmlviz.data import data_root
from dmlviz.errors import UserError
from dmlviz.labs.lab import FigureRow, FigureSpec
from dmlviz.labs.lab_study import check_dataset, cost_in_words, format_seconds, plan_trials, study_progress
from dmlviz.labs.registry import LABS
from dmlviz.process_setup import NICENESS_VARIABLE
from dmlviz.runs.store import runs_folder
from dmlviz.storage.files import atomic_write
from dmlviz.studies.runner import StudyRunner
from dmlviz.studies.study import FOLDER, Study
from dmlviz.studies.trial import Size

ALL, PAGE = "all", "printed-and-measured.html"

app = single_command_app()

Quick = Annotated[bool, typer.Option("--quick", help="a size that ends in two minutes")]
DatasetName = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="data set (default: the lab's first)")
]
StudyFolder = Annotated[
    Path | None, typer.Option("--folder", metavar="FOLDER", help="folder of the study (default: one beside the runs)")
]
Slots = Annotated[
    int | None,
    typer.Option("--slots", metavar="N", min=1, help="worker processes (default: the number of cores less one)"),
]


@app.command()
def lab(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="name of the lab; all for each of them; without one, list them",
            autocompletion=lambda: [*LABS, ALL],
        ),
    ] = None,
    quick: Quick = False,
    dataset: DatasetName = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="write the figures, {figure, series, x, y, low, high, n} each; without a name, the list of labs",
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="of all: the page that is written")
    ] = None,
    folder: StudyFolder = None,
    slots: Slots = None,
    afresh: Annotated[bool, typer.Option("--afresh", help="throw away the results of an earlier study")] = False,
    runs: RunsFolder = None,
    data: DataFolder = None,
) -> None:
    """Run a lab, an experiment of the field on small images, and print its figures.

    Ctrl-C stops it; the same command goes on from there. Without a name, list the labs.
    """
    console = console_beside(file, soft_wrap=True)
    if name is None:
        list_labs(console, file)
        return
    if name == ALL:
        if dataset or file or folder:
            raise UserError(
                "Each lab has data, figures and a folder of its own: leave out --dataset, --json, --folder."
            )
        _all(size_of(quick), page or Path(PAGE), runs, data, slots, afresh, console)
        return
    if page is not None:
        raise UserError(f"--page is of all labs: dmlviz lab {ALL} --page {page}.")
    spec, size = LABS[name], size_of(quick)
    dataset = check_dataset(spec, dataset)
    with study_runner(runs, data, slots) as runner:
        study = runner.start(name, size, dataset, path=folder, afresh=afresh)
        watch(runner, study, console)
    print_study(study, console)
    if file is not None:
        write_results(file, [asdict(row) for row in LABS[name].rows(study.results())])
        console.print(str(file))


def _all(
    size: Size, page: Path, runs: Path | None, data: Path | None, slots: int | None, afresh: bool, console: Console
) -> None:
    """Run every lab, one after the other, and write their numbers beside the printed ones."""
    from dmlviz.labs import printed

    rows: dict[str, Sequence[FigureRow]] = {}
    notes = {}
    begun = time.monotonic()
    with study_runner(runs, data, slots) as runner:
        for name, spec in LABS.items():
            start = time.monotonic()
            console.print(f"[bold]{spec.title}[/bold]")
            try:
                study = runner.start(name, size, spec.datasets[0], afresh=afresh)
                watch(runner, study, console)
                results = study.results()
                rows[name] = LABS[name].rows(results)
                notes[name] = f"It took {format_seconds(time.monotonic() - start)} on {study.info['machine']}."
                if failed := sum(bool(result.error) for result in results):
                    notes[name] += f" {failed} of {len(results)} trials failed."
            except UserError as error:  # the others go on
                notes[name] = f"It could not be run: {error}"
            console.print(notes[name])
    with atomic_write(page) as stream:
        stream.write(printed.page(rows, notes).encode())
    console.print(f"{len(rows)} of {len(LABS)} labs in {format_seconds(time.monotonic() - begun)}. {page}")


def size_of(quick: bool) -> Size:
    """Return the size that the option `--quick` stands for."""
    return "quick" if quick else "full"


def list_labs(console: Console, json_file: Path | None) -> None:
    """Print every lab with its question and what it costs, and write them as JSON where a file is given."""
    table = Table("lab", "question", "quick", "full", box=None, pad_edge=False)
    rows = []
    for spec in LABS.values():
        quick, full = cost_in_words(spec, "quick", spec.datasets[0]), cost_in_words(spec, "full", spec.datasets[0])
        table.add_row(spec.name, f"[bold]{spec.title}[/bold]\n{spec.question}", quick, full)
        rows.append({"lab": spec.name, "title": spec.title, "question": spec.question, "quick": quick, "full": full})
    console.print(table)
    write_results(json_file, rows)


@contextmanager
def study_runner(runs: Path | None, data: Path | None, slots: int | None) -> Iterator[StudyRunner]:
    """Yield a runner with worker processes of its own, at the usual priority: no page waits beside it."""
    from dmlviz.jobs.scheduler import JobScheduler

    os.environ.setdefault(NICENESS_VARIABLE, "0")
    folder = runs_folder(runs)
    scheduler = JobScheduler(folder, slots=slots, data_root=data_root(data), warm=False)
    runner = StudyRunner(scheduler, folder / FOLDER, plan_trials)
    try:
        yield runner
    finally:
        runner.close()
        scheduler.close()


def watch(runner: StudyRunner, study: Study, console: Console) -> None:
    """Show the progress of a study until it ends; Ctrl-C stops it.

    Raises:
        UserError: If the study could not be done.
        typer.Exit: With 130 after Ctrl-C.
    """
    bar = BarColumn(bar_width=24), TextColumn("{task.description}")
    with (
        stop_on_interrupt(lambda: study.request_stop()) as stop,
        Progress(*bar, console=console, disable=not console.is_terminal) as progress,
    ):
        task = progress.add_task("starting", total=1.0)
        last = -1
        while not runner.wait(study, 0.5 if console.is_terminal else 2.0):
            now = study_progress(study)
            words = f"{now.done} of {now.total} trials, {format_seconds(now.seconds_left)} left"
            progress.update(task, completed=now.share, description=words)
            if not console.is_terminal and now.done > last:
                last = now.done
                console.print(f"{time.strftime('%H:%M:%S')} {words}")
    info = study.info
    if info["state"] == "failed":
        raise UserError(info["reason"])
    if stop() or info["state"] == "stopped":
        console.print(f"Stopped. Run the same command again to go on. {study.path}")
        raise typer.Exit(130)


def print_study(study: Study, console: Console) -> None:
    """Print each figure as a table, and which trials failed."""
    info, results = study.info, study.results()
    spec = LABS[info["lab"]]
    rows = list(spec.rows(results))
    console.print(f"[bold]{spec.title}[/bold]\n{spec.question}\n")
    for figure in spec.figures:
        own = [row for row in rows if row.figure == figure.name]
        if own:
            console.print(f"[bold]{figure.title}[/bold]  {figure.caption}")
            console.print(_table(figure, own))
    for result in results:
        if result.error:
            console.print(f"{result.trial.name} failed: {result.error}")
    seconds = sum(result.seconds for result in results)
    console.print(f"{len(results)} trials, {format_seconds(seconds)} of work, on {info['machine']}. {study.path}")


def _table(figure: FigureSpec, rows: list[FigureRow]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("", figure.x_title or "x", figure.y_title or "y", "interval", "n"):
        table.add_column(title, justify="left" if not title else "right")
    for row in rows:
        interval = "" if row.low is None or row.high is None else f"{row.low:.4g} … {row.high:.4g}"
        x = row.x if isinstance(row.x, str) else f"{row.x:g}"
        table.add_row(row.series, x, f"{row.y:.4g}", interval, str(row.n))
    return table
