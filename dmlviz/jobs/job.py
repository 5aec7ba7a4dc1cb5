"""A job: what it is called, what was asked, and how it stands."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from dmlviz.jobs.job_report import JobKind
from dmlviz.jobs.placement import JobWorker
from dmlviz.runs.run import EventLogDir, Run

LEISURE = 60  # of a training with unfrozen blocks

JobState = Literal[
    "queued", "starting", "running", "stopping", "finished", "stopped", "failed", "interrupted", "unknown"
]


@dataclass(frozen=True)
class Status:
    """How a job stands; `position` counts from 1 in a queue of `of`; `reason` says why it failed or stopped.

    `machine` is the machine of the fleet that it runs on; empty for this one, and before and after. `lost` says which
    machine was lost, so that the job was begun again.
    """

    phase: JobState
    position: int | None = None
    of: int | None = None
    reason: str = ""
    machine: str = ""
    lost: str = ""


class Key(NamedTuple):
    """A training by the id of its run, a projection of that run by its own id, a trial of a study, or features.

    The last two have no run: their `run` is empty, and `trial` is "STUDY/TRIAL", or `features` names the folder in
    which they are computed.
    """

    run: str
    projection: str | None = None
    trial: str | None = None
    features: str | None = None

    @property
    def kind(self) -> JobKind:
        """What the job does."""
        if self.features is not None:
            return "features"
        return "trial" if self.trial is not None else "train" if self.projection is None else "project"


@dataclass(eq=False)
class Job:
    """A training, a projection, a trial or features from the request to the end; `on_end` is called after it."""

    key: Key
    record: EventLogDir
    request: dict[str, Any]
    dataset: str
    owners: list[str]
    worker: JobWorker | None = None
    stopping: bool = False
    attempts: int = 1
    lost: str = ""
    machine: str = ""  # the one that has the training already, and for which it waits until `patience`
    patience: float = 0.0  # as `submitted`
    timers: list[threading.Timer] = field(default_factory=list)
    submitted: float = field(default_factory=time.monotonic)
    started: float | None = None  # when a worker got it, as `submitted`
    on_end: Callable[[], object] = lambda: None

    @property
    def leisure(self) -> int:
        """How many times the usual time it has to stop: of a large net on a processor, a step may take a minute."""
        return LEISURE if isinstance(self.record, Run) and self.record.config.unfrozen_blocks else 1

    def schedule(self, seconds: float, do: Callable[[], object]) -> None:
        """Call `do` after so many seconds, unless `cancel_timers` is called before."""
        timer = threading.Timer(seconds, do)
        timer.daemon = True
        self.timers.append(timer)
        timer.start()

    def cancel_timers(self) -> None:
        """Forget what was scheduled."""
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()
