"""Data of the figures in *Curves*: computed once per run and step, and shared by all sessions."""

import threading
from functools import lru_cache
from pathlib import Path

from app.state.current_view import RunView
from dmlviz.export import RunExport
from dmlviz.figures.data import Measured, measure
from dmlviz.runs.run import Run

_measuring = threading.Lock()


def step_of(shown: RunView, left_at: int | None) -> int | None:
    """The step that the map shows: where the replay stands, the epoch of a projection, the last one while it trains.

    None for the end, where all test images are.
    """
    if shown.drawing is not None:
        return RunExport(shown.run, shown.drawing).step
    if left_at is not None or shown.complete:
        return left_at
    return next(reversed(shown.run.embedded_steps), None)


def measured_of(run: Run, name: str, step: int | None) -> Measured:
    """What a figure shows of a run; raise UserError where there is nothing to show yet.

    One at a time: it takes all cores for a moment, and thirty who click at once ask for the same.
    """
    with _measuring:
        return _measured(str(run.path), run.info["created"], _grown(run, name), name, step)


def _grown(run: Run, name: str) -> int:
    """What changes while the figure's numbers may: the end of a run, for its training every event."""
    if name == "training_curves":
        return run.log.path.stat().st_size if run.log.path.exists() else 0
    return int((run.path / "embeddings.npy").exists())


@lru_cache(maxsize=64)
def _measured(path: str, created: str, grown: int, name: str, step: int | None) -> Measured:
    """`created` tells a run that was trained again from the one before."""
    return measure(name, Run(Path(path)), step)
