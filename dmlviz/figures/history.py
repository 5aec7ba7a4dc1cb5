"""How a training went: its losses and scores, thinned to what a line can show. Loads no Plotly."""

from dataclasses import dataclass

import numpy as np

from dmlviz.catalog.metrics import METRICS
from dmlviz.errors import UserError
from dmlviz.runs.run import Run

MAX_POINTS = 400
SCORES = ("precision_at_1", "r_precision", "map_at_r")


@dataclass(frozen=True)
class History:
    """Mean losses over each `every` steps, by the last of them (`steps`), and scores at the snapshots (`looks`).

    `scores` are by title, those of unseen classes apart where there are any; what is not a number is NaN.
    """

    steps: np.ndarray
    losses: np.ndarray
    every: int
    looks: np.ndarray
    scores: dict[str, np.ndarray]
    about: str

    def columns(self) -> dict[str, np.ndarray]:
        """Losses and scores in one table by step; where a step has none, there is NaN."""
        steps = np.union1d(self.steps, self.looks)
        named = {"loss": (self.steps, self.losses)} | {name: (self.looks, line) for name, line in self.scores.items()}
        table: dict[str, np.ndarray] = {"step": steps}
        for name, (at, values) in named.items():
            column = np.full(len(steps), np.nan)
            column[np.searchsorted(steps, at)] = values
            table[name] = column
        return table


def history(run: Run) -> History:
    """Read a run's events so far; raise UserError where nothing was trained yet."""
    events = run.events()
    told = [event for event in events if event["event"] == "step"]
    looked = [event for event in events if event["event"] == "snapshot"]
    if not told and len(looked) < 2:
        raise UserError(f"{run.title} has trained no step yet, so there is no curve of it.")
    losses = np.array([np.nan if event["loss"] is None else event["loss"] for event in told], float)
    steps = np.array([event["step"] for event in told], np.int64)
    every = max(1, -(-len(steps) // MAX_POINTS))
    starts = np.arange(0, len(steps), every)
    ends = np.minimum(starts + every, len(steps))
    means = np.add.reduceat(losses, starts) / (ends - starts) if len(steps) else losses
    scores = {
        title: np.array([_number(event["metrics"].get(key)) for event in looked], float)
        for key, title in _titles(looked).items()
    }
    looks = np.array([event["step"] for event in looked], np.int64)
    return History(steps[ends - 1] if len(steps) else steps, means, every, looks, scores, _about(run, steps))


def _titles(looked: list[dict]) -> dict[str, str]:
    """Which scores are drawn, and what they are called."""
    named = {key: METRICS[key].title for key in SCORES}
    known = looked[-1]["metrics"] if looked else {}
    apart = {f"{group}/precision_at_1": f"{named['precision_at_1']}, {group} classes" for group in ("seen", "unseen")}
    return named | {key: title for key, title in apart.items() if key in known}


def _about(run: Run, steps: np.ndarray) -> str:
    tracked = run.tracked_indices
    scored = "" if tracked is None else f"; scores of the {len(tracked):,} tracked test images"
    of = "" if run.end is not None else f" of {run.config.steps:,}"
    return f"{int(steps[-1]) if len(steps) else 0:,}{of} steps{scored}"


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)
