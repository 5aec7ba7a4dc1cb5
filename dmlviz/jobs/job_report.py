"""What the scheduler says about a job to whoever wants to know: a log, or figures for monitoring."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

JobKind: TypeAlias = Literal["train", "project", "trial", "features"]


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """A job that begins, begins again, or has ended.

    Attributes:
        kind: What the job does.
        run: Id of the run, which is the hash of its config; empty for a trial and for features.
        projection: Id of the projection, the hash of its config too; None for a training.
        trial: "STUDY/TRIAL" for a trial.
        owner: Who asked for it first.
        state: "starting"; "lost" where its machine was, so that it begins again; or how it ended: "finished",
            "stopped", "failed" or "interrupted".
        waited: Seconds in the queue.
        seconds: Seconds in a worker; 0 where it begins, or ended in the queue.
        worker: Process id of the worker, or name of the machine; empty where it begins.
        reason: Why it did not finish.
    """

    kind: JobKind
    run: str
    projection: str | None
    owner: str
    state: str
    waited: float
    seconds: float = 0.0
    worker: str = ""
    reason: str = ""
    trial: str | None = None


JobListener: TypeAlias = Callable[[JobReport], object]
"""Called when a job begins, begins again, and has ended; must be quick, as the scheduler waits for it."""
