"""`dmlviz train --losses`: a race of some losses from one start, each an ordinary run."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dmlviz.catalog.losses import LOSSES
from dmlviz.cli import stop_on_interrupt
from dmlviz.config import TrainConfig
from dmlviz.config.race import MOST, left_out, racer, usual_losses
from dmlviz.data import Dataset
from dmlviz.errors import UserError
from dmlviz.jobs.claims import claimed
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.store import Runs
from dmlviz.training.events import Step

ALL = "all"  # instead of names: the recipe


def race(
    base: TrainConfig,
    losses: str,
    store: Runs,
    load: Callable[[], Dataset],
    root: Path,
    console: Console,
    retrain: bool,
    told: Callable[[dict[str, float]], str],
) -> None:
    """Train by turns with each of these losses, and print the scores of all; what is trained already is kept.

    Raises:
        UserError: For more than six losses, or one that does not go with the settings.
    """
    names = usual_losses(base) if losses == ALL else [name.strip() for name in losses.split(",")]
    if ALL in names:
        raise UserError("The losses of a race are named, or all are meant; got both: leave out all, or the names.")
    if not 2 <= len(names) <= MOST:
        raise UserError(f"A race has 2 to {MOST} losses; got {len(names)}: name them with commas between, or all.")
    configs = [racer(base, name) for name in dict.fromkeys(names)]
    if losses == ALL:
        console.print(left_out(base, names), markup=False)
    kept = {run.id for run in store.list() if run.state in ("finished", "running") and not retrain}
    open_ones = [config for config in configs if config.id not in kept]
    if open_ones:
        data = load()
        limit_to_one_thread()
        from dmlviz.runs.training_run import by_turns, train_and_record

        with ExitStack() as stack:
            stop = stack.enter_context(stop_on_interrupt(lambda: console.print("Stopping: final evaluation …")))
            for config in open_ones:
                path = store.folder / config.id
                stack.enter_context(claimed(store.folder, path, f"Another process is training this run: {path}."))
            columns = BarColumn(), TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps"), TimeRemainingColumn()
            progress = stack.enter_context(Progress(*columns, console=console, disable=not console.is_terminal))
            task = progress.add_task("", total=sum(config.steps for config in open_ones))
            trainings = [train_and_record(store.create(one), data_root=root, data=data, stop=stop) for one in open_ones]
            for event in by_turns(trainings):
                progress.update(task, advance=isinstance(event, Step))
    for config in configs:
        run = store.get(config.id)
        why = run.end.get("reason", run.state) if run.end else run.state
        made = run.embeddings
        said = (
            why if made is None else run.config.dataset_spec.said(f"{told(run.metrics)} on {len(made):,} test images")
        )
        console.print(f"{LOSSES[config.loss].title}: {said}\n  {run.path}", markup=False)
    if open_ones and stop():
        raise typer.Exit(130)
