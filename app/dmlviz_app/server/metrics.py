"""Figures about the server: those that are counted while they happen, and the processes with their memory."""

import collections
import contextlib
import os
import time
from dataclasses import dataclass
from threading import Lock

import psutil
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics

from dmlviz.jobs.job import JobReport

disable_created_metrics()
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

JOBS_ENDED = Counter("dmlviz_jobs_ended", "Jobs that have ended.", ["kind", "state"], registry=REGISTRY)
JOBS_LOST = Counter("dmlviz_fleet_jobs_lost", "Trainings whose machine was lost; they begin again.", registry=REGISTRY)
WAITING = Histogram(
    "dmlviz_job_waiting_seconds",
    "Time from a click to a worker.",
    ["kind"],
    buckets=(0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600),
    registry=REGISTRY,
)
FIRST_FRAME = Histogram(
    "dmlviz_first_frame_seconds",
    "Time from a click on Train to the first frame that a page fetches.",
    buckets=(0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 900),
    registry=REGISTRY,
)
RERUN = Histogram(
    "dmlviz_rerun_seconds",
    "Time in which the server makes a page anew.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.4, 1, 2.5, 5),
    registry=REGISTRY,
)
REQUESTS = Counter("dmlviz_http_requests", "HTTP requests answered.", ["method", "route", "status"], registry=REGISTRY)

FETCH_TIME_S = 10.0  # seconds after a training's end in which its first frame still counts as live
MAX_AWAITED = 1000


class FirstFrames:
    """Measures how long people wait for the first frame of a training."""

    def __init__(self) -> None:
        self._starts: dict[str, float] = {}  # by run, when it was asked for
        self._over: dict[str, float] = {}  # by run, when a frame no longer counts as live
        self._lock = Lock()

    def on_job(self, report: JobReport) -> None:
        """Note that a training begins or has ended; one that begins again goes on counting."""
        if report.kind != "train" or report.state == "lost":
            return
        now = time.monotonic()
        with self._lock:
            if report.state == "starting":
                self._starts[report.run] = now - report.waited
                self._over.pop(report.run, None)
                if len(self._starts) > MAX_AWAITED:  # whose result was never read
                    oldest = next(iter(self._starts))
                    del self._starts[oldest]
                    self._over.pop(oldest, None)
            elif report.run in self._starts:
                self._over[report.run] = now + FETCH_TIME_S

    def on_frame(self, run: str) -> None:
        """Note that a page has got a frame of a training."""
        now = time.monotonic()
        with self._lock:
            start, over = self._starts.pop(run, None), self._over.pop(run, now)
        if start is not None and now <= over:
            FIRST_FRAME.observe(now - start)


FIRST_FRAMES = FirstFrames()


def count_job(report: JobReport) -> None:
    """Count a job that begins, was lost, or has ended."""
    FIRST_FRAMES.on_job(report)
    if report.state == "starting":
        WAITING.labels(report.kind).observe(report.waited)
    elif report.state == "lost":
        JOBS_LOST.inc()
    else:
        JOBS_ENDED.labels(report.kind, report.state).inc()


SERVER, FORK_SERVER, WORKER = "server", "fork_server", "worker"


@dataclass(frozen=True)
class ProcessUse:
    """Resource usage of the processes.

    Attributes:
        workers: Number of workers: those with a job, the one that waits for the next, and those that answer.
        memory: Bytes by kind of process; memory that several share counts once where the system says so (Linux).
    """

    workers: int
    memory: dict[str, int]


def process_use() -> ProcessUse:
    """Look at this process and those that it has started. Takes some milliseconds for each."""
    server = psutil.Process()
    memory = collections.Counter({SERVER: _memory(server), FORK_SERVER: 0, WORKER: 0})
    workers = 0
    for child in server.children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            kind = _kind(child)
            memory[kind] += _memory(child)
            workers += kind == WORKER
    return ProcessUse(workers, dict(memory))


def _kind(child: psutil.Process) -> str:
    # A forked worker has the command line of the fork server.
    return FORK_SERVER if child.ppid() == os.getpid() and "dmlviz.workers.fork_server" in child.cmdline() else WORKER


def _memory(process: psutil.Process) -> int:
    use = process.memory_full_info()
    return int(getattr(use, "pss", use.uss))
