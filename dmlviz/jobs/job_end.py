"""The end of a job: whether there is one, and the words for it in the log."""

import contextlib
import time

from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs.job import Job
from dmlviz.jobs.placement import JobWorker
from dmlviz.jobs.worker_process import WorkerProcess
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.run import EventLogDir


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


def worker_name(worker: JobWorker | None) -> str:
    """Return the machine that a worker is on, or its process id on this one."""
    if worker is None:
        return ""
    return str(worker.pid) if isinstance(worker, WorkerProcess) else worker.machine
