"""A job: its order, its record and its state; and the report about it to listeners."""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.claims import Claim, claim
from dmlviz.jobs.job_events import JobEnd
from dmlviz.jobs.order import Order
from dmlviz.jobs.placement import JobWorker
from dmlviz.jobs.worker_process import KILLED
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import EventLogDir

JobState = Literal[
    "queued", "starting", "running", "stopping", "finished", "stopped", "failed", "interrupted", "unknown"
]
LIVE_STATES: tuple[JobState, ...] = ("queued", "starting", "running", "stopping")


@dataclass(frozen=True)
class Status:
    """The state of a job; `position` counts from 1 in a queue of `of`; `reason` explains a failure or a stop.

    `machine` is the machine of the fleet that it runs on; empty for this one, and before and after. `lost` is the
    machine that was lost, so that the job was restarted.
    """

    phase: JobState
    position: int | None = None
    of: int | None = None
    reason: str = ""
    machine: str = ""
    lost: str = ""

    @property
    def is_live(self) -> bool:
        """Whether the job waits or is in a worker."""
        return self.phase in LIVE_STATES


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """A job that begins, begins again, or has ended.

    Attributes:
        kind: Kind of the job.
        run: ID of the run that it is about, which is the hash of its config; empty for none.
        name: Which of the run's projections, or which trial or features: see `Order`.
        owner: ID of the first person who requested it.
        state: "starting"; "lost" where its machine was, so that it begins again; or how it ended: "finished",
            "stopped", "failed" or "interrupted".
        waited: Seconds in the queue.
        seconds: Seconds in a worker; 0 where it begins, or ended in the queue.
        worker: Process id of the worker, or name of the machine; empty where it begins.
        reason: Why it did not finish.
    """

    kind: str
    run: str
    name: str
    owner: str
    state: str
    waited: float
    seconds: float = 0.0
    worker: str = ""
    reason: str = ""


JobListener: TypeAlias = Callable[[JobReport], object]
"""Called when a job begins, begins again, and has ended; must be quick, as the scheduler waits for it."""


@dataclass(eq=False)
class Job:
    """An order from the request to the end; each of `on_end` is called after it.

    A race has a job for each run: those `beside` the `first` are done by its worker, and begin and end with it.
    """

    order: Order[Any]
    record: EventLogDir
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
    claim: Claim | None = None  # None for an answer, and for a job that another process does or did
    elsewhere: bool = False  # another process does it; this one takes over where that ends
    on_end: list[Callable[[], object]] = field(default_factory=list)
    beside: "list[Job]" = field(default_factory=list)
    first: "Job" = field(init=False)

    def __post_init__(self) -> None:
        self.first = self

    @property
    def all(self) -> "list[Job]":
        """It, and those beside it."""
        return [self, *self.beside]

    @property
    def is_over(self) -> bool:
        """Return whether its log, and that of each beside it, has an end that can be read."""
        return all(job._end is not None for job in self.all)

    @property
    def is_late(self) -> bool:
        """Return whether it has taken as long as it may."""
        limit = self.order.limit_s
        return limit is not None and self.started is not None and time.monotonic() - self.started >= limit

    @property
    def _end(self) -> JobEnd | None:
        try:
            end: JobEnd | None = self.record.end
            return end
        except DamagedFileError:
            return None

    def schedule(self, seconds: float, do: Callable[[], object]) -> None:
        """Call `do` after so many seconds, unless `cancel_timers` is called before."""
        timer = threading.Timer(seconds, do)
        timer.daemon = True
        self.timers.append(timer)
        timer.start()

    def cancel_timers(self) -> None:
        """Cancel all scheduled calls."""
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()

    def write_end(self, event: str, reason: str, **cause: str) -> None:
        """Log its end, and that of each beside it, if no process did; its folder may be gone."""
        for job in self.beside:
            job.write_end(event, reason, **cause)
        with contextlib.suppress(OSError, UserError), RecordWriter(self.record, time.time) as writer:
            if self._end is not None:  # since another process, which had the lock, has ended
                return
            step = 0
            with contextlib.suppress(DamagedFileError):
                step = next((e["step"] for e in reversed(self.record.events()) if "step" in e), 0)
            writer.event({"event": event, "step": step, "metrics": {}, "reason": reason, **cause})

    def release(self) -> None:
        """Give up the claims, so that another process may do it."""
        for job in self.beside:
            job.release()
        if self.claim is not None:
            self.claim.release()
            self.claim = None

    def claim_and_begin(self, runs: Path) -> bool:
        """Claim it among those of a folder of runs, and make its own folder; False where its result is there by now."""
        if not self.order.is_answer:  # the folder of an answer is this process's
            self.claim = claim(runs, self.order.folder)
            self.elsewhere = self.claim is None
            record = None if self.elsewhere else self.order.existing()  # it may have ended in between
            if record is not None:
                self.record = record
                self.release()
                return False
        if self.elsewhere:
            self.record = self._record_elsewhere()
            return True
        try:
            for order in self.order.beside:
                job = Job(order, EventLogDir(order.folder), self.owners)
                if job.claim_and_begin(runs) and not job.elsewhere:
                    job.first = self
                    self.beside.append(job)
            self.record = self.order.begin()
        except BaseException:
            self.release()
            raise
        return True

    def _record_elsewhere(self) -> EventLogDir:
        """Return its record where another process has claimed it, which makes the folder within milliseconds."""
        deadline = time.monotonic() + 2.0
        while True:
            try:
                record: EventLogDir = self.order.record(self.order.folder)
                return record
            except UserError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def begin_again(self, lost: str) -> bool:
        """Reset the folder after its machine was lost, so that it can begin again; else log its failure."""
        try:
            self.record = self.order.begin(lost)
        except UserError as error:
            self.write_end("failed", f"{lost} It could not be begun again: {error}")
            return False
        return True

    def why_it_failed(self, why: str) -> str:
        """Return how its worker ended, with what to do about it where that is known."""
        if self.order.kind == "train":
            advice = "or use a smaller net or smaller batches"
        else:
            advice = "and continue" if self.order.kind == "features" else "and try again"
        return f"{why} Close other programs, {advice}." if why == KILLED else why

    def report(self, state: str = "", reason: str = "") -> JobReport:
        """Return the report about it in this state; by default how it has ended."""
        end = self._end if not state else None
        first = self.first
        is_begun = first.started is not None and state != "starting"
        return JobReport(
            kind=self.order.kind,
            run=self.order.run,
            name=self.order.name,
            owner=first.owners[0] if first.owners else "",
            state=state or ("interrupted" if end is None else end["event"]),
            waited=(first.started or time.monotonic()) - first.submitted,
            seconds=time.monotonic() - (first.started or 0.0) if is_begun else 0.0,
            worker=first.worker.name if is_begun and first.worker is not None else "",
            reason=reason or ("" if end is None else end.get("reason", "")),
        )


def status_of(record: EventLogDir, job: Job | None) -> Status:
    """Return the state of a record, which a job that does not wait any more may be writing."""
    if job is None and not record.path.is_dir():
        return Status("unknown", reason=f"There is no folder {record.id}; it may have been deleted.")
    record = record if job is None else job.record
    try:
        end = record.end
    except DamagedFileError as error:
        return Status("unknown", reason=str(error))
    if end is not None:
        return Status(end["event"], reason=end.get("reason", ""))
    if job is not None:
        first = job.first
        phase: JobState = "stopping" if first.stopping else "running" if record.log.last() else "starting"
        return Status(phase, machine=first.worker.machine if first.worker is not None else "", lost=job.lost)
    state = record.state
    if state == "damaged":  # since the look above
        return Status("unknown")
    return Status(state, reason="The program ended before the run did." if state == "interrupted" else "")
