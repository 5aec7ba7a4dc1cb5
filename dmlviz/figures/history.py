"""Losses and scores of a training, thinned for a line plot. Imports no Plotly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.metrics import METRICS
from dmlviz.errors import UserError
from dmlviz.runs.run import Run
from dmlviz.storage.run_schema.events import SnapshotEvent, TrainingEvent

MAX_POINTS = 400
SCORES = ("precision_at_1", "r_precision", "map_at_r")


@dataclass(frozen=True)
class History:
    """Loss and score curves.

    Attributes:
        steps: The last step of each group of `every` steps.
        losses: Mean loss of each group.
        every: Steps per group.
        looks: Steps of the snapshots.
        scores: Scores at the snapshots by title and images, also of unseen classes; NaN if missing.
        about: Caption.
        falls: Steps after which the learning rate falls.
    """

    steps: np.ndarray
    losses: np.ndarray
    every: int
    looks: np.ndarray
    scores: dict[str, np.ndarray]
    about: str
    falls: tuple[int, ...] = ()

    def columns(self) -> dict[str, np.ndarray]:
        """Return one table of losses and scores by step; NaN if missing."""
        steps = np.union1d(self.steps, self.looks)
        lines = {"loss": (self.steps, self.losses)} | {name: (self.looks, line) for name, line in self.scores.items()}
        table: dict[str, np.ndarray] = {"step": steps}
        for name, (at, values) in lines.items():
            column = np.full(len(steps), np.nan)
            column[np.searchsorted(steps, at)] = values
            table[name] = column
        return table


def history(run: Run) -> History:
    """Read a run's curves; raise UserError before its first step."""
    events = run.events()
    log = [event for event in events if event["event"] == "step"]
    snapshots = [event for event in events if event["event"] == "snapshot"]
    if not log and len(snapshots) < 2:
        raise UserError(f"{run.title} has no training curves yet: wait for its first steps.")
    losses = np.array([np.nan if event["loss"] is None else event["loss"] for event in log], float)
    steps = np.array([event["step"] for event in log], np.int64)
    every = max(1, -(-len(steps) // MAX_POINTS))
    starts = np.arange(0, len(steps), every)
    ends = np.minimum(starts + every, len(steps))
    means = np.add.reduceat(losses, starts) / (ends - starts) if len(steps) else losses
    images = "validation" if run.scored_indices is not None else "test"
    scores = {
        f"{title}, {images}": np.array([_number(event["metrics"].get(key)) for event in snapshots], float)
        for key, title in _titles(snapshots).items()
    }
    looks = np.array([event["step"] for event in snapshots], np.int64)
    about, falls = _about(run, steps), _falls(run, events)
    if falls:
        about += f"; the learning rate falls to {run.config.decay_factor:g} of it every {falls[0]:,} steps (dotted)"
    return History(steps[ends - 1] if len(steps) else steps, means, every, looks, scores, about, falls)


def _falls(run: Run, events: Sequence[TrainingEvent]) -> tuple[int, ...]:
    images = next((event["train_images"] for event in events if event["event"] == "started"), 0)
    if run.config.schedule != "step" or not images:
        return ()
    every = run.config.plateau(images)
    return tuple(range(every, run.config.steps, every))


def _titles(snapshots: list[SnapshotEvent]) -> dict[str, str]:
    """Return the titles of the drawn scores by key."""
    titles = {key: METRICS[key].title for key in SCORES}
    scores = snapshots[-1]["metrics"] if snapshots else {}
    apart = {f"{group}/precision_at_1": f"{titles['precision_at_1']}, {group} classes" for group in ("seen", "unseen")}
    return titles | {key: title for key, title in apart.items() if key in scores}


def _about(run: Run, steps: np.ndarray) -> str:
    indices, validation = run.tracked_indices, run.scored_indices
    about = "" if indices is None else f"; scores of the {len(indices):,} tracked test images"
    if validation is not None:
        about = f"; scores of {len(validation):,} validation images"
    of = "" if run.end is not None else f" of {run.config.steps:,}"
    return f"{int(steps[-1]) if len(steps) else 0:,}{of} steps{DATASETS[run.config.dataset].said(about)}"


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)
