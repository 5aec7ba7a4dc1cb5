"""Data of the figures and the table in *Curves*: computed once per run and step, and shared by all sessions."""

import threading
from functools import lru_cache
from pathlib import Path

from dmlviz import metrics
from dmlviz.catalog.metrics import METRICS, metric_of
from dmlviz.export import RunExport
from dmlviz.figures.data import Measured, images, measure
from dmlviz.runs.run import Run
from dmlviz_app.workbench.current_view import RunView

_measure_lock = threading.Lock()


def step_of(run_view: RunView, replay_step: int | None) -> int | None:
    """Return the step that the map shows: that of the replay, a projection's epoch, or the last one while it trains.

    None for the end, where all test images are.
    """
    if run_view.projection is not None:
        return RunExport(run_view.run, run_view.projection).step
    if replay_step is not None or run_view.complete:
        return replay_step
    return next(reversed(run_view.run.embedded_steps), None)


def measured_of(run: Run, name: str, step: int | None) -> Measured:
    """Return a run's data for a figure; raise UserError if there is nothing to show yet.

    One at a time: it takes all cores for a moment, and thirty who click at once ask for the same.
    """
    with _measure_lock:
        return _measure(str(run.path), run.info["created"], _data_version(run, name), name, step)


def _data_version(run: Run, name: str) -> int:
    """Return a version of the figure's numbers: the end of a run, or while it trains its last event."""
    if name == "training_curves":
        return run.log.path.stat().st_size if run.log.path.exists() else 0
    return int((run.path / "embeddings.npy").exists())


def scores_of(run: Run, step: int | None) -> tuple[dict[str, float], str]:
    """Return all scores of a run, as `dmlviz evaluate` prints them, and their source; raise UserError if none exist.

    A run keeps those of its end; what it lacks is computed.
    """
    scores = run.metrics if step is None else {}
    if set(METRICS) <= {spec.name for key in scores if (spec := metric_of(key)) is not None}:
        return scores, images(run, step=step).about
    with _measure_lock:
        return _scores(str(run.path), run.info["created"], _data_version(run, ""), step)


@lru_cache(maxsize=32)
def _scores(path: str, created: str, data_version: int, step: int | None) -> tuple[dict[str, float], str]:
    run = Run(Path(path))
    points = images(run, step=step)
    scores = metrics.evaluate(points.embeddings, points.labels, unseen=run.config.held_out_classes)
    return scores, points.about


@lru_cache(maxsize=64)
def _measure(path: str, created: str, data_version: int, name: str, step: int | None) -> Measured:
    """Return the measurements; `created` distinguishes a run that was trained again from the one before."""
    return measure(name, Run(Path(path)), step)
