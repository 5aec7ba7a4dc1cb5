"""`dmlviz train`: train in the terminal and save the run."""

import math
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import metric_title
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.parameters import Catalog, Fields
from dmlviz.cli import NUM_PROGRESS_LINES, DataFolder, RunsFolder, single_command_app, stop_on_interrupt
from dmlviz.cli.options import add_config_options
from dmlviz.cli.project import map_summary
from dmlviz.cli.race import race
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.config.fields import FIELDS, GROUPS
from dmlviz.config.training import cost_note
from dmlviz.data import data_root
from dmlviz.data.corrections import load_corrections
from dmlviz.errors import UserError
from dmlviz.jobs.claims import claimed
from dmlviz.jobs.follower import Follower
from dmlviz.process_setup import limit_to_one_thread
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.runs.store import Runs, runs_folder
from dmlviz.storage.text import counted
from dmlviz.training.diagnostics import Alarm, TrainingMonitor
from dmlviz.training.events import Event, Failed, Finished, Snapshot, Started, Step, Stopped
from dmlviz.training.suggestions import suggestions

app = single_command_app()
CATALOGS: dict[str, Catalog[Any]] = {
    "dataset": DATASETS,
    "net": NETS,
    "loss": LOSSES,
    "miner": MINERS,
    "sampler": SAMPLERS,
}
PANELS = {group: tuple(name for name, one in FIELDS.items() if one.group == group) for group in GROUPS}
# These cannot name a class that was held out of training.
OF_TRAINED_CLASSES = ("head_accuracy", "knn_probe_accuracy", "linear_probe_accuracy")
SCORES = ("precision_at_1", "recall_at_5", "map_at_r", "r_precision", "nmi", *OF_TRAINED_CLASSES)
LIVE_SCORES = ("precision_at_1", "map_at_r")
DATASET = TrainConfig.model_fields["dataset"].default
LATEST = "latest"  # instead of a revision of the corrections
STOPPING = "Stopping: final evaluation … Press Ctrl-C again to quit immediately."


def train(
    settings: Fields,
    runs: RunsFolder = None,
    data: DataFolder = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="title of the run")] = None,
    retrain: Annotated[bool, typer.Option("--retrain", help="train again even if this run exists")] = False,
    live: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="map that follows the training, as in the app: pca, tsne, umap, pacmap, localmap"
        ),
    ] = None,
    losses: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…", help="race of 2 to 6 losses from one start on the same batches: names, or all for a choice"
        ),
    ] = None,
) -> None:
    """Train a net, print its scores, and save the run. Ctrl-C stops early and saves it too.

    Scores while training are of validation images, held out of the training images; the last ones of the test images.

    Defaults are the values recommended for the loss, else those in parentheses. Equal settings are one run: a second
    call shows the existing one.
    """
    DATASETS.add_search_path(data_root(data))
    if "dataset" in settings:
        settings["dataset"] = DATASETS.find(settings["dataset"])
    if settings.get("corrections") == LATEST:
        settings["corrections"] = _latest(settings, data_root(data))
    if "held_out_classes" in settings:
        spec = DATASETS[settings.get("dataset", DATASET)]
        settings["held_out_classes"] = sorted(spec.class_ids(settings["held_out_classes"], "--held-out-classes"))
    config, drawn = TrainConfig(**settings), None if live is None else ProjectionConfig.following(live)
    store = Runs(runs_folder(runs))
    console = Console(highlight=False, soft_wrap=True)
    if losses is not None:
        if title or live:
            raise UserError("A race has several runs, so it takes neither --title nor --live; rename a run afterwards.")
        root = data_root(data)
        return race(config, losses, store, lambda: _load(config, data, console), root, console, retrain, _scores)
    run, said = _existing_run(store, config), config.dataset_spec.said
    busy = f"Another process is training this run: {store.folder / config.id}."
    if run is not None and not retrain:
        if run.state == "running":
            raise UserError(busy)
        console.print(
            said(f"Already trained: {run.title} ({_scores(run.metrics)} on the test images). ")
            + "Use --retrain to train again.",
            markup=False,
        )
        if title and title != run.title:
            console.print(
                f"It keeps its title; dmlviz runs rename {run.id} {shlex.quote(title)} changes it.", markup=False
            )
        console.print(str(run.path))
        _settle(None if drawn is None else Follower(run, drawn), console)
        return
    dataset = _load(config, data, console)
    with (
        stop_on_interrupt(lambda: console.print(STOPPING)) as stop,
        claimed(store.folder, store.folder / config.id, busy),
    ):
        run = store.create(config, title)
        console.print(f"{run.title}: {counted(config.steps, 'step')}; Ctrl-C stops early", markup=False)
        follower = None if drawn is None else Follower(run, drawn)
        events = _events(run, dataset, stop, data_root(data))
        last = _watch(events if follower is None else follower.beside(events), config, console)
    if isinstance(last, Failed):
        print(last.reason, file=sys.stderr)
        raise typer.Exit(1)
    if isinstance(last, Finished):
        verb = "Stopped after" if isinstance(last, Stopped) else "Finished"
        console.print(f"{verb} {counted(last.step, 'step')} in {last.seconds:.1f} s")
        console.print(said(f"{_scores(last.metrics)} on {len(last.embeddings):,} test images"))
        if last.validation_metrics:
            console.print(said(f"{_scores(last.validation_metrics)} on the validation images, held out of training"))
        for group in dict.fromkeys(key.split("/")[0] for key in last.metrics if "/" in key):
            scores = _scores({key: last.metrics.get(f"{group}/{key}") for key in SCORES})
            console.print(said(f"{scores} on the test images of {group} classes"))
    console.print(str(run.path))
    _settle(follower, console)
    if stop():
        raise typer.Exit(130)


app.command()(add_config_options(train, TrainConfig, CATALOGS, PANELS))


def _existing_run(runs: Runs, config: TrainConfig) -> Run | None:
    """Return the run with these settings, if it is finished or running."""
    try:
        run = runs.get(config.id)
    except RunNotFoundError:
        return None
    return run if run.state in ("finished", "running") else None


def _load(config: TrainConfig, root: Any, console: Console) -> Any:
    """Return the data set; raise UserError where a batch needs more images than it gives."""
    from dmlviz.data import load
    from dmlviz.training.validation_split import misfit_of

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"Downloading {config.dataset_spec.title}", total=None, visible=False)
        tell = partial(progress.update, task, visible=True)
        dataset = load(config.dataset, root, progress=lambda done, total: tell(completed=done, total=total))
    if said := misfit_of(config, dataset, data_root(root)):
        raise UserError(said)
    return dataset


def _latest(settings: Fields, root: Path) -> str:
    """Return the revision of the corrections so far of the data set that the settings name."""
    dataset = settings.get("dataset", TrainConfig.model_fields["dataset"].default)
    revision = load_corrections(root, dataset).freeze(root)
    if revision is None:
        raise UserError(f"No label of {dataset} has been corrected yet: see `dmlviz clean`.")
    return revision


def _events(run: Run, dataset: Any, stop: Any, root: Path) -> Iterator[Event]:
    from dmlviz.runs.training_run import train_and_record

    limit_to_one_thread()
    return train_and_record(run, data_root=root, data=dataset, stop=stop)


def _settle(follower: Follower | None, console: Console) -> None:
    """Wait for the map that has followed, if any, and print its quality."""
    if follower is not None:
        console.print(f"Drawing the {follower.config.declared.title} of each snapshot, and of all test images …")
        projection = follower.wait()
        console.print(f"{map_summary(projection)}\n{projection.path}")


def _watch(events: Iterator[Event], config: TrainConfig, console: Console) -> Event | None:
    """Print progress until the last event, and return that event."""
    columns = (
        *(BarColumn(bar_width=16), TextColumn("{task.completed:,.0f}/{task.total:,.0f}")),
        *(TextColumn("{task.description}"), TimeRemainingColumn(compact=True), TextColumn("left")),
    )
    event, loss, scores, images, due = None, float("nan"), "", "", 0.0
    terminal = console.is_terminal
    with Progress(*columns, console=console, disable=not terminal) as progress:
        task = progress.add_task("starting", total=config.steps)
        monitor = TrainingMonitor(config)
        said: set[str] = set()
        for event in events:
            for alarm in monitor.update(event)[0]:
                if alarm.name not in said:  # one that comes and goes is said once
                    console.print(_alarm_text(alarm, config))
                said.add(alarm.name)
            match event:
                case Started():
                    console.print(config.dataset_spec.said(_image_counts(event)))
                    if event.device == "cpu" and (cost := cost_note(config)):
                        console.print(cost)
                    images = "validation" if event.validation_images else "test"
                case Snapshot():
                    scores = f"{_scores(event.metrics, LIVE_SCORES)} ({images})"
                case Step():
                    loss = event.loss if loss != loss else 0.9 * loss + 0.1 * event.loss
                    if terminal and time.monotonic() >= due:
                        due = time.monotonic() + 0.1
                        progress.update(task, completed=event.step, description=f"loss {loss:.3f}  {scores}")
                    elif not terminal and event.step % max(1, config.steps // NUM_PROGRESS_LINES) == 0:
                        console.print(f"step {event.step:,}: loss {loss:.4f}, {scores or 'no scores yet'}")
        if terminal and isinstance(event, Finished):
            progress.update(
                task, completed=event.step, description=f"loss {loss:.3f}  {_scores(event.metrics, LIVE_SCORES)} (test)"
            )
    return event


def _image_counts(event: Started) -> str:
    """Return how many images there are of each kind, and which are scored while training."""
    counts = f"{event.train_images:,} training images, {event.test_images:,} test images"
    if event.validation_images:
        return f"{counts}, {event.validation_images:,} validation images, which are scored while training"
    return f"{counts}; no validation images, so test images are scored while training"


def _alarm_text(alarm: Alarm, config: TrainConfig) -> str:
    """Return the alarm's message and what to try."""
    remedies = " or ".join(suggestion.label for suggestion in suggestions(alarm.name, config))
    return f"{alarm.message} Try {remedies}." if remedies else alarm.message


def _scores(metrics: Mapping[str, float | None], keys: Iterable[str] = SCORES) -> str:
    """Return scores with their titles; those that only seen classes have stand in a line of their own."""
    values = {key: metrics.get(key) for key in keys if key not in OF_TRAINED_CLASSES or f"seen/{key}" not in metrics}
    scores = {key: value for key, value in values.items() if value is not None and math.isfinite(value)}
    return "  ".join(f"{metric_title(key)} {value:.4f}" for key, value in scores.items()) or "no scores"
