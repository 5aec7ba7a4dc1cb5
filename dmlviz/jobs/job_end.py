"""The end of a job: whether there is one, the words for it in the log and to listeners, or another beginning."""

import contextlib
import time
from typing import Any

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.job import Job
from dmlviz.jobs.job_report import JobReport
from dmlviz.jobs.placement import JobWorker
from dmlviz.jobs.trial_record import TrialRecord
from dmlviz.jobs.worker_process import KILLED, WorkerProcess
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import EventLogDir
from dmlviz.runs.store import Runs


def is_over(record: EventLogDir) -> bool:
    """Whether its log has an end that can be read."""
    try:
        return record.end is not None
    except DamagedFileError:
        return False


def write_end(job: Job, event: str, reason: str) -> None:
    """Say in the log of a job that it has ended, where its worker did not; its folder may be gone."""
    step = 0
    with contextlib.suppress(DamagedFileError):
        step = next((e["step"] for e in reversed(job.record.events()) if "step" in e), 0)
    with contextlib.suppress(OSError, UserError), RecordWriter(job.record, time.time) as writer:
        writer.event(event, step=step, metrics={}, reason=reason)


def why_it_failed(job: Job, why: str) -> str:
    """Return how the worker of a job ended, with what to do about it where that is known."""
    if why != KILLED:
        return why
    if job.key.kind == "features":
        return f"{why} Close other programs, and continue."
    return f"{why} Close other programs, or use a smaller net or smaller batches."


def worker_name(worker: JobWorker | None) -> str:
    """Return the machine that a worker is on, or its process id on this one."""
    if worker is None:
        return ""
    return str(worker.pid) if isinstance(worker, WorkerProcess) else worker.machine


def begin_again(job: Job, runs: Runs, why: str) -> bool:
    """Take what a lost machine has done of a job away, so that it can begin again; else say in its log that it failed.

    Args:
        job: The job.
        runs: Where its run is.
        why: How its machine was lost.

    Returns:
        Whether it can begin again.
    """
    try:
        if isinstance(job.record, TrialRecord):
            job.record = TrialRecord.create(job.record.path, job.record.order)
        else:
            job.record = runs.begin_again(job.key.run, why)
    except UserError as error:
        write_end(job, "failed", f"{why} It could not be begun again: {error}")
        return False
    return True


def how_it_ended(job: Job) -> tuple[str, dict[str, Any]]:
    """Return the state in which a job has ended, and what a report says of it besides."""
    end = None
    with contextlib.suppress(DamagedFileError):
        end = job.record.end
    return "interrupted" if end is None else end["event"], {
        "seconds": 0.0 if job.started is None else time.monotonic() - job.started,
        "worker": worker_name(job.worker),
        "reason": "" if end is None else end.get("reason", ""),
    }


def report_of(job: Job, state: str, **more: Any) -> JobReport:
    """Return what listeners are told of a job in this state."""
    return JobReport(
        kind=job.request["job"],
        run=job.key.run,
        projection=job.key.projection,
        owner=job.owners[0] if job.owners else "",
        state=state,
        trial=job.key.trial,
        waited=(job.started or time.monotonic()) - job.submitted,
        **more,
    )
