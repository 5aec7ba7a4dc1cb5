"""Checks of the machine: memory, cores, graphics card, and whether a training works."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from dmlviz.config import TrainConfig
from dmlviz.doctor.folders import Check
from dmlviz.errors import UserError
from dmlviz.jobs.order import training
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.process_setup import MOST_FILES, open_files
from dmlviz.runs.quota import format_bytes
from dmlviz.runs.store import Runs

# The server, the process that forks workers and two workers take 0.7 GB with MNIST; one training more 0.2 GB.
ENOUGH_MEMORY = 1_000_000_000  # bytes
FILES_A_VISITOR, ENOUGH_FILES = 5, 4096  # measured: 4.3 a page that stays open
CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
NVIDIA = Path("/proc/driver/nvidia/version")


def check_memory() -> Check:
    """Return how much memory there is, and whether it is enough; a container's limit counts."""
    memory = psutil.virtual_memory()
    total = min(memory.total, _container_limit() or memory.total)
    free = min(memory.available, total)
    finding = f"{format_bytes(free)} of {format_bytes(total)} are free"
    if free < ENOUGH_MEMORY:
        remedy = f"Close other programs, or give the container more: {format_bytes(ENOUGH_MEMORY)} should be free."
        return Check("memory", "warning", finding, remedy)
    return Check("memory", "ok", finding)


def check_cores() -> Check:
    """Return how many processor cores there are, and how many trainings run at a time on them."""
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    slots = max(1, cores - 1)
    finding = f"{usable} of {cores}" if usable < cores else f"{cores}"
    finding += f"; {slots} training{'s' if slots > 1 else ''} at a time"
    if usable == 1:
        return Check("cores", "warning", finding, "Pages become slow while a training runs; two cores are better.")
    return Check("cores", "ok", finding)


def check_open_files() -> Check:
    """Return how many files a server may have open: it raises its limit as far as the system lets it."""
    limits = open_files()
    if limits is None:
        return Check("open files", "ok", "not limited")
    most = MOST_FILES if limits[1] < 0 else limits[1]  # -1: no limit
    finding = f"{most:,}, enough for about {most // FILES_A_VISITOR:,} visitors at a time"
    if most < ENOUGH_FILES:
        remedy = f"Raise the hard limit to {ENOUGH_FILES:,}: `ulimit -Hn`, or LimitNOFILE of a service."
        return Check("open files", "warning", finding, remedy)
    return Check("open files", "ok", finding)


def check_gpu() -> Check:
    """Return which graphics card trainings use. Imports torch, which takes seconds."""
    try:
        import torch
    except (ImportError, OSError) as error:
        return Check("GPU", "broken", f"torch cannot be imported: {str(error)[:200]}", "Install it again: pytorch.org")
    if torch.cuda.is_available():
        return Check("GPU", "ok", f"{torch.cuda.get_device_name()} (CUDA {torch.version.cuda})")
    if NVIDIA.exists():
        why = "is built without CUDA" if torch.version.cuda is None else f"with CUDA {torch.version.cuda} cannot use it"
        finding = f"There is a graphics card, but torch {torch.__version__} {why}."
        return Check("GPU", "warning", finding, "Install the torch that fits its driver: pytorch.org/get-started")
    return Check("GPU", "ok", "none; trainings run on the processor")


def _container_limit() -> int | None:
    for file in CGROUP_LIMITS:
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdecimal() else None
    return None


DATASET = "digits"  # needs no network
TIMEOUT_S = 120.0  # seconds for each part
NAME = "training"
BUSY = "See what keeps the cores busy, for instance with `top`."


def check_training() -> Check:
    """Return whether a training works from queue to result, in a folder that is deleted afterwards."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dmlviz-doctor-") as folder:
        jobs = JobScheduler(Runs(Path(folder)), slots=1, likely=DATASET)
        try:
            return _train(jobs, start)
        except (OSError, UserError) as error:
            return Check(NAME, "broken", f"No worker could be started: {error}", "See the checks above.")
        finally:
            jobs.close()


def _train(jobs: JobScheduler, start: float) -> Check:
    worker = jobs.dispatcher.pool.idle_worker
    assert worker is not None
    if not _wait(lambda: worker.ready.is_set() or not worker.alive):
        return Check(NAME, "broken", "No worker got ready in time.", BUSY)
    ready = time.monotonic()  # or it has ended: then the job's own worker says why
    config = TrainConfig(dataset=DATASET, steps=1, num_snapshots=1, eval_subset_size=100)
    run = jobs.submit(training(jobs.runs, config))
    if not _wait(lambda: not jobs.status(run).is_live):
        return Check(NAME, "broken", "One step on the digits did not end in time.", BUSY)
    status = jobs.status(run)
    if status.phase != "finished":
        return Check(NAME, "broken", f"One step on the digits {status.phase}: {status.reason}", "See the checks above.")
    seconds = time.monotonic() - ready
    return Check(
        NAME, "ok", f"a worker is ready after {ready - start:.1f} s, one step on the digits took {seconds:.1f} s"
    )


def _wait(promise: Callable[[], bool]) -> bool:
    """Wait until something holds; False if it never does."""
    end = time.monotonic() + TIMEOUT_S
    while not promise():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
