"""The check that tries it out: a warm worker starts, and trains one step on the data set that comes with dmlviz."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dmlviz.config import TrainConfig
from dmlviz.doctor.check import Check
from dmlviz.errors import UserError
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.runs.store import Runs

DATASET = "digits"  # needs no network
TIMEOUT_S = 120.0  # seconds for each part
NAME = "training"
BUSY = "See what keeps the cores busy, for instance with `top`."


def check_training() -> Check:
    """Return whether a training works from queue to result, in a folder that is deleted afterwards."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dmlviz-doctor-") as folder:
        jobs = JobScheduler(Runs(Path(folder)), slots=1, likely=DATASET)
        try:
            return _train(jobs, begun)
        except (OSError, UserError) as error:
            return Check(NAME, "broken", f"No worker could be started: {error}", "See the checks above.")
        finally:
            jobs.close()


def _train(jobs: JobScheduler, begun: float) -> Check:
    worker = jobs.pool.idle_worker
    assert worker is not None
    if not _wait(lambda: worker.ready.is_set() or not worker.alive):
        return Check(NAME, "broken", "No worker got ready in time.", BUSY)
    ready = time.monotonic()  # or it has ended: then the job's own worker says why
    config = TrainConfig(dataset=DATASET, steps=1, num_snapshots=1, eval_subset_size=100)
    run = jobs.submit(config)
    if not _wait(lambda: jobs.status(run).phase not in ("queued", "starting", "running")):
        return Check(NAME, "broken", "One step on the digits did not end in time.", BUSY)
    status = jobs.status(run)
    if status.phase != "finished":
        return Check(NAME, "broken", f"One step on the digits {status.phase}: {status.reason}", "See the checks above.")
    seconds = time.monotonic() - ready
    return Check(
        NAME, "ok", f"a worker is ready after {ready - begun:.1f} s, one step on the digits took {seconds:.1f} s"
    )


def _wait(promise: Callable[[], bool]) -> bool:
    """Wait until something holds; False if it never does."""
    end = time.monotonic() + TIMEOUT_S
    while not promise():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
